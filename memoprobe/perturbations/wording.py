"""Hold rules for what a task is about: comparisons, quantities, things and how they are.

The notation is that of ``clauses``. Terms that name a type, an order or a quantity of the task
(sorted, subset, prefix, even, largest, array, sum) have no synonym here.
"""

WORDING = r"""
more than once => several times | -
at most once => no more than once
exactly once => just once | precisely once
only once => just once
<not after or>equal to the => the same as the
is equal to the => equals the | is the same as the
is equal to(?! or\b) => equals | is the same as
are equal to(?! or\b) => equal | are the same as
are equal(?= or| if|[.]|$) => are the same | are identical
<not after not>greater than or equal to => at least | no less than
<not after not>less than or equal to => at most | no greater than
not greater than(?! or) => no greater than | at most
<not after one>less than(?! or\b) => smaller than
greater than(?! or\b) => larger than
smaller than(?! or\b) => less than
larger than(?! or\b) => greater than
bigger than => larger than
longer than => of greater length than
further than => farther than
the same as(?! in\b) => identical to
<not after the>same as(?! in\b) => identical to
is identical to => is the same as
are identical => are the same
identical to => the same as
of the same length => of equal length | having the same length
of equal length => of the same length
of same (length|size) => of the same {0} | having the same {0}
have the same(?= ) => share the same
has the same(?= ) => shares the same
with the same => having the same
have equal length => are of equal length
total number of => overall number of
(find|count|calculate|get|determine|return) (?:the )?number of(?= \w) => {0} the count of
    | {0} the total number of
<after find/count/calculate/get/return/compute/returns>(?=<definite>) => the_
<after list/integer/number/array/string/object><name> => called_ | named_
<after integers/numbers/strings>(?=[a-zA-Z] and [a-zA-Z]\b) => called_ | named_
<after elements/numbers/items/words/characters/values/strings/integers>
    in(?= (?:the|an?)\b)<no clause>
    => that are in | which are in | of
<after element/item>in(?= (?:the|an?)\b) => of | that is in
(return)(?= (?:the )?<quantity>) => compute and {0} | determine and {0} | work out and {0}
the number of(?= \w+s\b) => the count of | the total number of
the number of times => how many times | how often
how many times => how often
the average of => the mean of
average of => mean of
the count of => the number of
a lot of => many
multiple(?! (?:of|occure|items)\b) => several
several => multiple | various
various => different | several
<not after in>particular => specific | certain
specified(?= <noun>) => given
(the|an?|any|each) (?:given|supplied|provided)(?= (?:<noun>|\w+)\b) => {0} supplied | {0} provided
    | {0} specified
<after in/from/of/for/with/to/into/if/whether/contain/filter/than/until>
    given(?= (?:two |three |input )?<noun>\b)
    => the supplied | the provided | the given
(two|three|four) given => {0} supplied | {0} provided
^given(?= (?:an?|the|two|three|list|lists|string|length|array)\b) => provided with | when given | -
given(?= an?\b) => provided with | -
supplied => given | provided
provided(?= (?:list|string|array|number)) => given | supplied
the input (?=list|string|array|number) => the given_ | the supplied_
input to this function => the input of this function | the argument of this function
this function takes => the function takes | this function accepts
this function will take => this function will receive | the function will take
the function will => this function will
the function (?=<modal>) => this function_ | your function_
return the result => return what comes out | return the outcome
the result of(?! the matches) => the outcome of
the results of => the outcomes of
all the(?= (?:\w+ )?<things>) => all of the | all
all (?=<things> (?:are|in|of|from|that)\b) => all the_
each and every => every
for each(?! (?:other|of)\b) => for every
each (?=<thing>)(?! of) => every_
every (?=<thing>) => each_
each of the(?= \w) => every one of the
both of the => both
one of the(?= ) => any one of the | -
the entire => the whole
entire => whole
the whole => the entire
elements(?= (?:of|in|from|that|which|are|occur|present|left|to|with|between|at|is)\b) => items
    | entries | -
elements(?=[.,]|$) => items
<not after first>element(?= (?:of|in|from|that|which|is|to|at|occurring|with|immediately)\b) => item
    | entry
items(?= (?:in|of|from)(?! the dictionary)\b) => elements
integers(?= (?:and|that|in|from|which|are|of)\b) => whole numbers
(array|list|sequence) of integers => {0} of whole numbers | {0} of integer values
(array|list|sequence) of numbers => {0} of numeric values
a positive integer => a positive whole number
position => location | -
location => position
additional => extra | further
extra => additional
the following(?= \w+s\b) => these
corresponding => matching
corresponding to => that corresponds to | matching
individual => single | separate
separate(?= strings) => individual
exactly => precisely
precisely => exactly
initially => at first
simultaneously => at the same time
immediately => directly
correctly => properly
properly => correctly
however,? => still, | -
whereas => while
therefore => hence | thus
hence => therefore | thus
thus => therefore
moreover => furthermore | in addition
furthermore => moreover | in addition
because => since
too => also | -
very => extremely
different from each other => unlike each other | distinct from each other
are different => differ
in ascending order => in increasing order | from smallest to largest
in descending order => in decreasing order | from largest to smallest
in increasing order => in ascending order
ascending order => increasing order
descending order => decreasing order
upper case => uppercase
lower case => lowercase
uppercase letters => capital letters | upper-case letters
lowercase letters => lower-case letters
capital letter => uppercase letter
lower case letter => lowercase letter
whitespaces => blanks | -
<not after blank>spaces(?= (?:from|in|are|with)\b) => blanks | space characters
vice versa => the other way around
at the beginning of => at the start of
at the start of => at the beginning of
at the beginning and at the end => at the start and at the end
in the beginning => at the start
the beginning => the start
the start or end => the beginning or end
made up of => composed of | consisting of
made by => formed by | obtained by
formed by => made by | produced by
formed with => built from | made from
formed from => built from | made from
can be formed => can be built | can be made
that can be => which can be
which can be => that can be
can be represented => can be written | can be expressed
can be written as => can be expressed as | can be represented as
can be decomposed into => can be split into | can be broken down into
joined with => connected by | linked with
followed by(?! zero) => and then | -
needed to => required to | necessary to
required to => needed to | necessary to
that need to be => which have to be | that must be
which means => meaning
means that => implies that
it means => this means
that means => which means
for instance, => for example,
as an example => for example
as shown => as displayed
the other(?= (?:two|three)\b) => the remaining
the rest of => the remainder of
last part => final part
first and last => initial and final | -
initial and last => first and last
and vice versa => and the other way around
no longer => not any more
a single => one | -
into a single => into one
same order => identical order
preserve the order => keep the order
the idea is => the plan is
algorithm idea => the idea of the algorithm
a simple program => a small program
is not possible => cannot be done
it is possible to => one can
if possible => where possible
sums(?= (?:all|the|numbers)\b) => adds up | totals
add(?= (?:two|the|all)\b(?! (?:even|odd|dictionary|given))) => sum | add up
area for => area of
represent(?= coefficients) => stand for | are
<after takes/returns/return>(?=string\b(?! representation)) => a_
<after concatenate/filter>(?=list\b) => the_
<after add/check if/of>(?=two (?:numbers|words|lists|integers)\b) => the_
<after are>(?=monotonically\b) => either_
<after given>(?=length of) => the_
only for (integers) => for {0} only
of any(?= \w+ values) => of arbitrary
<after insert>a(?= number) => the
<after of>(?=input list) => the_
an input (?=list|string|array|number) => a given_ | a supplied_
found(?= until) => seen
only (?=positive numbers) => only the_
are coefficients => are the coefficients
as(?= it guarantees) => since | because
with elements(?= incremented) => with its elements | whose elements are
in(?= (?:even|odd) (?:indices|positions)) => at
for(?= two lists) => of
consecutive => successive | -
distinct(?= (?:characters|elements|integers|numbers|letters)) => different | -
have the same characters => consist of the same characters
is(?= a (?:function|routine) that) => denotes
from shortest to longest => from the shortest to the longest
from smallest to largest => from the smallest to the largest
upto => up to
does it consist of => it consists of | it is made up of
to that list => to this list
that list => this list
will become => becomes
closer to => nearer to | less far from
closest to => nearest to
every (?=opening) => each_
everyone => everybody
deeply => in depth
in the last => over the last
<after rounded>to => off to
<after represent/sums/with/integers/list of>(?=coefficients|numbers from|prime factors of) => the_
only for ones => only for those
modulo => mod
to (?=uppercase|lowercase) => into_
uppercase => upper-case | upper case
lowercase => lower-case | lower case
flip => switch | change
each other => one another
one another => each other
a person => somebody
imagine => picture
for the given => for the supplied | for the provided
from a given => from a supplied | from a provided
of the given => of the supplied | of the provided
in the given => in the supplied | in the provided
in a given => in a supplied | in a provided
of a given => of a supplied | of a provided
of the (array|list|string|tuple|matrix|number)(?=[.,]|$) => of that {0} | -
"""

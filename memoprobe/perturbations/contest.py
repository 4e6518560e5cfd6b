"""Hold rules for how contest problems are put: their lines of input, tests, answers and actors.

The notation is that of ``clauses``. They were written for such texts and hardly touch others.
"""

CONTEST = r"""
the (first|second|third|last|next|only|following) line of (?:the )?input (contains|consists of)
    => the {0} input line {1} | in the input, the {0} line {1}
the (first|second|third|last|next|only|following) line of (each|every|the) test case contains
    => in {1} test case, the {0} line holds | in {1} test case, the {0} line gives
the (first|second|third|last|next|only) line (?:of input )?contains
    => the {0} line holds | the {0} line gives | on the {0} line you find
each line of (?:the )?input contains => every input line holds
each of the next (?=\S+ lines) => every one of the following_
the next (?=\S+ lines) => the following_ | the subsequent_
next (?=\S+ lines) => the following_
then (?=\S+ lines follow) => after that,_ | next,_
(lines|test cases|queries|descriptions) follow(?=[.,]|$) => {0} come next | {0} come after that
the description of (the|each) test cases? follows => {0} test case is described next
contains (a single|one) (integer|number|string|line) => holds {0} {1} | gives {0} {1}
contains (two|three|four|several) (integers|numbers|strings)(?= ) => holds {0} {1} | gives {0} {1}
contains(?= \S*\$) => holds | gives
space[- ]separated (integers|numbers|strings) => {0} with spaces between them
(integers|numbers|strings) separated by (?:a )?(?:single )?spaces?
    => {0} with spaces between them | {0} that spaces separate
separated by (?:a )?(?:single )?spaces? => with spaces between them | that spaces separate
, denoting => , which denotes | , that is
denoting(?= (?:the|an?)\b) => that denotes | which is
denotes(?= (?:the|an?)\b) => stands for | is
where (?=\S+ (?:is|denotes) the) => in which_
respectively => in this order
correspondingly => in this order
the (?:total )?number of test cases => how many test cases there are
the number of (queries|operations|moves|vertices|nodes|edges|cities|people|elements)(?= in\b)
    => the count of {0}
consists of multiple test cases => is made of several test cases
for each (test case|query|test) => for every {0}
for every (test case|query|test) => for each {0}
print (?=the|a single|one|any|all|on|in|\S*\$) => output_ | write_
output (?=the|a single|one|any|all|on|in|\S*\$) => print_ | write_
in a single line => on a line of its own | on one line
on a single line => on a line of its own | on one line
on a separate line => on a line of its own
in a separate line => on a line of its own
each on a new line => each on a line of its own
the answer (?=to the problem|for the problem) => the solution_
if there are (?:multiple|several|many) (?:possible )?(answers|solutions|ways)
    => if more than one of the {0} exist | should several {0} exist
if there are (?:multiple|several) optimal (answers|solutions) => should several optimal {0} exist
(print|output) any(?: one)? of them => {0} whichever of them you like | {0} any one of these
in any order => in whichever order
it is possible to => one can
it is impossible to => one cannot | there is no way to
that it is impossible to => that one cannot | that there is no way to
is it possible to => can one
is allowed to => may
(he|she|it) (?:can|may) (go|move|choose|perform|use|take|do|make|buy|visit|select|swap)
    => {0} may {1} | {0} is able to {1} | -
wants to => would like to | wishes to
want to => would like to | wish to
is going to => will
has to => must
in one move => with one move | by one move
in one operation => with one operation | by one operation
in one step => with one step | by one step
perform the following operation => carry out this operation | do the following operation
the following operation => this operation
any number of times => as often as you like | as many times as desired
at the same time => simultaneously
starts at the => begins at the
is called(?= (?:an?|the)\b) => is said to be | is known as
we call (?=an?|the) => let us call_
among all(?: the)? possible => out of all possible | of all possible
all possible => all the possible
the (minimum|maximum|smallest|largest) possible => the {0} attainable | the {0} achievable
the (minimum|maximum) number of => the {0} count of
help (?=him|her|them) => please help_
help (?=[A-Z][a-z]+ ) => please help_
your program should => the program has to | your program must
can you (?=help|find|tell|compute) => are you able to_
as follows => in the following way | like this
as described above => in the way described above
described above => given above
mentioned above => named above
in particular => particularly
a positive integer => a positive whole number
non-negative integers => non-negative whole numbers
pairwise distinct => all distinct
does not exceed => is at most
do not exceed => are at most
not exceeding => of at most
is not greater than => is at most
over all test cases => across all test cases | taken over all test cases
the sum of (\S*\$[^$]+\$\S*|n|m) over => {0}, summed up over
there (?:is|are) no (?=such|solution|answer) => there exist no_ | -
there is no solution => no solution exists
there is no answer => no answer exists
it can be shown that => one can show that | it can be proved that
it can be proven that => one can show that | it can be proved that
example test case => sample test case
in the first (example|sample|test) => looking at the first {0},
to the right of => on the right of
to the left of => on the left of
some of the => a few of the
a lot of => lots of
nowadays => these days
recently => not long ago | lately
suddenly => all at once
unfortunately => sadly | regrettably
"""

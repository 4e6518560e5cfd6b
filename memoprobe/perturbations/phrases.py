"""Hold rules for how a task is put: its frame, its connectives, conditions and relative clauses.

The notation is that of ``clauses``. A rule stands before those it must win against.
"""

PHRASES = r"""
(an?) python function => {0} function in Python | {0} Python routine
an? function(?= (?:to|that|which|for|called|named)\b) => a routine
(an? (?:python )?(?:function|routine)) to(?= [a-z]+\b) => {0} that can | {0} that will
    | {0} which can | {0} able to | {0} whose purpose is to | {0} whose job is to | {0} designed to
<after function/program/routine>that(?= [a-z]+s\b) => which
<after function/program/routine>which(?= [a-z]+s\b) => that
takes (.{1,60}?) as (?:an )?input => accepts {0} as its input | receives {0} as its input
takes (.{1,60}?) as (?:an )?argument => accepts {0} as its argument | receives {0} as its argument
takes (.{1,60}?) as (?:a )?parameter => accepts {0} as its parameter | receives {0} as its parameter
takes (?=an?\b|two\b|three\b|as\b|the\b|list\b|string\b|integers\b) => accepts_ | receives_
accepts (?=an?\b|two\b|three\b|as\b|the\b) => takes_ | receives_
receives (?=an?\b|two\b|three\b|as\b|the\b) => takes_ | accepts_
as (?:an )?input(?=[.,]|$| and| string| list) => as its input
as (?:an )?argument(?=[.,]|$| and) => as its argument
as (?:a )?parameter(?=[.,]|$| and) => as its parameter
(?:^|(?<=,\s)|<after to/should/must/will/then>)return(?! (?:value|type|statement|it|them|that)\b)
    => give back | hand back
in this task => in this exercise | for this task
for this task => in this task
your task is to => your job is to | you have to | you need to | your assignment is to
your job is to => your task is to | you have to
your goal is to => your task is to | your aim is to | the goal is to
you have been tasked to => you have been asked to | your task is to
the task is to => the job is to
you need to => you have to | your task is to
you have to => you need to | you must
you should => you must | you have to
you will be given => you will receive | you will be handed | you are going to be given
you.ll be given => you will be given | you will receive
(?:you are|you're) given => you receive | you have been given | you are handed
    | you are provided with
you are provided with => you are given | you receive
we have => there is
you may assume => you can assume | it is safe to assume | it can be assumed
you can assume => you may assume | it is safe to assume | it can be assumed
assume that => suppose that
it is guaranteed that => it is certain that | you can rely on the fact that
is guaranteed to => is certain to | is sure to
please note that => please keep in mind that | bear in mind that
note that => keep in mind that | bear in mind that | remember that
be aware of => pay attention to | be mindful of
please write => please create | please implement
(you can )think of => {0}imagine
for example(?=,? \w) => for instance
for instance => for example
in other words => put differently
in such a way that => so that
in a manner such that => in such a way that | so that
in order to => so as to
so as to => in order to
find out(?= how| whether)? => work out | discover
find(?= (?:the )?<quantity>\b) => determine | calculate | compute | work out
<not after didn't>find(?! (?:whether|out)\b) => identify | locate | determine
is used to => serves to
is allowed to => is permitted to
are allowed to => are permitted to
allowed to => permitted to
with the help of => by means of | using
by using => using | with the help of | by means of
by means of => using | with the help of
<not after by/without>using(?= <means>) => with the help of | by means of | by using
without using => without the use of | without making use of
on the basis of => based on | according to
according to => based on | in accordance with
based on(?= (?:the|their|its|how)\b) => according to | on the basis of
in accordance with => according to
in case of => when there are
in case(?= (?:the|there|an?)\b) => if
in the case that => if
as well as => and also
and also => and additionally
and return(?= (?:it|them|that)\b) => and then return
and return(?= (?:the|an?|its|list|two|result|-?\d|\[)) => and then return | and give back
<not after and>returns => gives back | hands back
and returns(?= (?:the|an?|it|them|true|false|string|list|result)\b) => and then returns
    | and gives back
<check>if(?= \w) => whether
<check>whether ([^.,;]*?) or not(?=[.]|$) => whether or not {0} | if {0}
<check><not after find>whether(?! or\b) => if
find whether(?! or\b) => determine whether | find out whether | work out if
find out whether => determine whether
(?<=,\s)and (false|none) otherwise => otherwise {0}
otherwise,? (?:it )?should return => if not, it should return | in all other cases it should return
otherwise(?=,? return) => if not | in all other cases
else(?=,? return) => otherwise | if not
or (false|none) otherwise => and {0} otherwise | and {0} if not
<no question>if(?= <subject>\b(?! if\b)) => when | in case
whenever => every time
there is no(?= such) => there exists no
there is(?= (?:an?|no|only)\b) => there exists
there are(?= (?:no|multiple|several|any|two or more)\b) => there exist
there's(?= no) => there is
if no such (.{1,30}?) exists?(?=[.,]| then| return) => if there is no such {0}
such an? (.{1,20}?) does not exist => there is no such {0}
isn't => is not
aren't => are not
don't => do not
doesn't => does not
hasn't any => does not have any
hasn't => has not
can't => cannot
won't => will not
wouldn't => would not
shouldn't => should not
haven't => have not
you're => you are
you'll => you will
you've => you have
we'll => we will
it's(?= (?:an?|the|not|balanced|also|unbalanced|guaranteed|valid|possible|empty)\b) => it is
that's => that is
let's => let us
what's => what is
cannot => can not
is not able to => cannot
should not => must not
should(?= <state>) => must | has to | needs to | -
should(?= <state>) => must
shall => will | should
must(?= [a-z]+\b)(?! not) => should
has to(?= [a-z]+\b) => must | needs to
needs to(?= [a-z]+\b) => has to | must
have to(?= [a-z]+\b) => need to | must
need to be => have to be | must be
may(?= (?:be|contain|have|not|include)\b) => might
might(?= (?:be|contain|have)\b) => may
is able to => can
only consists of => consists only of
consists? only of => is made up only of
consists of => is made up of | is composed of
<not after it/does>consist of => are made up of | are composed of
consisting only of => made up only of
consisting of => made up of | composed of
containing => that contains | with | holding | -
that contains(?= ) => containing | that includes | that has
which contains(?= ) => that contains | containing
that contain => containing | which contain
contains(?= (?:an?|the|at|any|all|no|only|exactly|duplicate|some)\b) => includes | has
contain(?= (?:an?|the|at|any|all|no|only|duplicate|some)\b) => include | have | hold
represented as => written as | given as
representing => denoting | standing for
that represents => representing | which represents
represents => stands for | denotes
represent(?= (?:the|an?)\b) => stand for | denote
separated by => delimited by | that are separated by
delimited by => separated by
starts with => begins with
start with => begin with
starting with => beginning with
begins with => starts with
begin with => start with
beginning with => starting with
starts from => begins at
starting from => beginning at | beginning from
starts at => begins at
ends with => finishes with
ending with => finishing with
appears(?= (?:in|at|only|once|more|times|\w+ times)\b) => occurs | shows up
appear(?= (?:in|at|only|once|more)\b) => occur | show up
occurs => appears
occur(?= (?:in|at|most|more|only|once|exactly|frequently)\b) => appear
occurring => appearing
occurrences? of => appearances of | -
all occurrences => every occurrence
every time => each time
like this => in this way
defined as follows => defined in this way
similar to => like
which are => that are
that are(?= <quality>) => which are
which is(?= ) => that is
that is(?= (?:not|also|an?|less|greater|larger|smaller|in|the)\b) => which is
which (?=have|has|contains|can|appears|occurs)\b => that_
that (?=have|has|occur|occurs|appears|appear|start|starts|begins|contain|need|needs)\b => which_
whose sum is => that have a sum of | -
with (?=minimum|maximum) => that has the_ | having the_
who have => that have
present in => contained in | found in | that occur in | -
present in(?= (?:the|an?)\b) => contained in | found in
available in => found in
inside of => within
inside(?= (?:the|an?)\b) => within
within(?= (?:the|an?)\b) => inside
among the => out of the
out of(?= (?:the|list|all)\b) => from
between each other => from each other
in between => between
at any point => at any moment | at some point
at that point => at that moment
so that => such that | in such a way that
such that(?= (?:the|no|each|it|all|every|there)\b) => so that | in such a way that
regardless of => no matter the | irrespective of
in the direction of => towards
with respect to => regarding
"""

"""Verbs with which the docstring of a function may begin, in their imperative form.

Ruff's rule for this (D401) knows an imperative by its ending, and takes "The noise" for one.
A list is exact. Add a verb where a docstring needs one; a noun does not become a verb by it.
"""

IMPERATIVES = frozenset(
    """
    abort accept accumulate acknowledge acquire act add adjust admit advance aggregate agree
    align allocate allow amend anchor annotate answer append apply approve approximate archive
    arrange ask assemble assert assign attach attack attempt audit authenticate authorise
    authorize average await balance become begin bind bisect block bound bracket branch break
    bring broadcast buffer build cache calculate calibrate call cancel canonicalise
    canonicalize cap carry cast catch centre change charge check choose clamp classify clean
    clear clip clone close collapse collect combine commit compare compile complete compose
    compress compute concatenate configure confine confirm connect consider construct consume
    contain continue convert convince copy correct count cover create cross curate cut
    deactivate debit decide declare decline decode decompose decrease decrypt default defer
    define delay delegate delete demand deny dequeue derive describe deserialise deserialize
    destroy detach detect determine differentiate disable disallow discard disconnect dispatch
    display distinguish distribute divide do double download drain draw drop dump duplicate
    edit emit empty enable encode encrypt end enforce enqueue ensure enter enumerate erase
    escape establish estimate evaluate examine exclude execute exit expand expect explain
    export expose express extend extract factor fail fetch fill filter find finish fit flag
    flatten flip floor flush fold follow forbid force forget fork format forward free freeze
    gather generate get give govern grant group grow guard guess halt halve hand handle hash
    have hide hold identify ignore import impose include increase increment index infer inform
    inherit initialise initialize inject insert inspect install integrate interpolate
    interpret interrupt intersect invert invoke issue iterate join judge keep kill label learn
    leave lend let lift limit link list listen load locate lock log look loop lower make map
    mark mask match maximise maximize measure merge migrate minimise minimize mix mock modify
    move multiply name narrow negate normalise normalize note notify number obtain offer omit
    open order overwrite pack pad parse partition pass patch pause pay perform permute pick
    place plan plot post prepare prepend present preserve prevent preview price print probe
    process produce project promise propagate propose protect prove provide publish pull push
    put query queue quit quote raise randomise randomize rank reach read rebase rebuild recall
    receive recompute reconstruct record recover redirect reduce refer reflect refresh refuse
    register reject release reload remember remove rename render renew reopen repair
    repartition repeat replace replay reply report request require rerun rescale reserve reset
    resize resolve respond restart restore restrict resume retrieve retry return reuse reveal
    reverse review revoke reweight rewrite roll rotate round route run sample satisfy save say
    scale scan score scrub seal search seed seek select send separate serialise serialize
    serve set settle share shift show shrink shuffle shut sign simplify simulate skip sleep
    slice smooth solve sort spawn specify spend split spread square stamp standardise
    standardize start state stop store stream stretch strip submit substitute subtract suggest
    sum supply support suppress suspend swap switch synchronise synchronize tabulate tag take
    tally teach tell terminate test thaw throttle tie tighten time title tokenise tokenize
    total trace track train transfer transform translate transpose traverse treat trim
    truncate try turn undo unfreeze uninstall unite unlock unpack unregister unseal unwrap
    update upgrade upload use validate vary verify view visit vote wait walk warn weigh widen
    withdraw withhold wrap write yield
    """.split()  # noqa: SIM905 - a list of 500 strings in quotes is harder to read and to edit
)

import {
  namespaceTenant,
  outcomeOf,
  type AskedPolicy,
  type JobSubject,
  type JudgedSet,
  type Judgement,
  type PolicyAsker,
} from '../../policy/index.ts'
import { hideSecrets } from './hide-secrets.ts'
import type { GuardingPolicy, GuardingSet, PolicySource } from './policy-source.ts'
import { PolicyTexts } from './policy-texts.ts'

/** Result of a policy set, with the outcomes of its policies in order. */
export interface GuardVerdict extends JudgedSet {
  readonly set: GuardingSet
}

/** Data that policies need besides the job. */
export interface SubjectNeeds {
  readonly readsVariables: boolean
  /** Reports whether the authors of the policies may read a namespace. */
  readonly mayReadOf: (namespace: string) => boolean
}

export interface PolicyGuardOptions {
  readonly source: PolicySource
  readonly asker: PolicyAsker
}

/** Evaluates the policies of a namespace on a job. Decides nothing. */
export class PolicyGuard {
  readonly #source: PolicySource
  readonly #asker: PolicyAsker
  readonly #texts: PolicyTexts

  constructor({ source, asker }: PolicyGuardOptions) {
    this.#source = source
    this.#asker = asker
    this.#texts = new PolicyTexts(source)
  }

  /** Returns the current policy sets of a namespace that have policies. */
  setsFor(namespace: string): readonly GuardingSet[] {
    if (!this.#source.hasPolicies()) return NO_SETS
    return this.#source.setsFor(namespace).filter(({ policies }) => policies.length > 0)
  }

  /** Reports whether overriding a set requires a comment. */
  needsComment({ id }: GuardingSet): boolean {
    return this.#source.needsComment(id)
  }

  /** Evaluates each organization's sets separately: they have different input. */
  async judge(
    sets: readonly GuardingSet[],
    subjectFor: (needs: SubjectNeeds) => JobSubject,
  ): Promise<readonly GuardVerdict[]> {
    const owned = Map.groupBy(sets, ({ organizationId }) => organizationId).values()
    const verdicts = await Promise.all(
      Array.from(owned, async (own) => await this.#judgeOwn(own, subjectFor)),
    )
    const found = new Map(verdicts.flat().map((verdict) => [verdict.set, verdict]))
    return sets.flatMap((set) => found.get(set) ?? [])
  }

  /** Evaluates all policies of an organization at once: their input is built once. */
  async #judgeOwn(
    sets: readonly GuardingSet[],
    subjectFor: (needs: SubjectNeeds) => JobSubject,
  ): Promise<readonly GuardVerdict[]> {
    const organizationId = sets[0]?.organizationId
    const policies = sets.flatMap((set) => set.policies)
    const texts = await Promise.all(policies.map((policy) => this.#texts.find(policy)))
    const readsVariables = texts.some((text) => text?.readsVariables === true)
    const asked = policies.flatMap(({ params }, at): AskedPolicy[] => {
      const policy = texts[at]?.text
      return policy === undefined ? [] : [{ policy, params }]
    })
    const mayReadOf = (namespace: string): boolean =>
      (this.#source.ownerOf(namespace) ?? organizationId) === organizationId
    const subject = subjectFor({ readsVariables, mayReadOf })
    const origin = { tenant: namespaceTenant(subject.namespace) }
    const judgements = (await this.#asker.ask(subject, asked, origin)).values()
    const said = new Map<GuardingPolicy, Judgement>()
    for (const [at, policy] of policies.entries())
      said.set(policy, texts[at] === undefined ? CODE_GONE : (judgements.next().value ?? UNASKED))
    return sets.map((set) => {
      const verdict = verdictOfSet(set, said)
      if (verdict.outcomes.every(({ findings }) => findings.length === 0)) return verdict
      return { ...verdict, outcomes: hideSecrets(verdict.outcomes, subject, set) }
    })
  }
}

const NO_SETS: readonly GuardingSet[] = []

function verdictOfSet(
  set: GuardingSet,
  said: ReadonlyMap<GuardingPolicy, Judgement>,
): GuardVerdict {
  const { name, overridable, policies } = set
  const outcomes = policies.map((policy) =>
    outcomeOf(policy, said.get(policy) ?? UNASKED, overridable),
  )
  return { set, name, overridable, outcomes }
}

/** Error that fails closed. The next attempt finds the replacing code. */
const CODE_GONE = errored('the code of the policy is not stored any more')
const UNASKED = errored('the policy was not asked')

function errored(message: string): Judgement {
  const finding = { rule: null, line: null, column: null, message }
  return { status: 'errored', output: [], findings: [finding] }
}

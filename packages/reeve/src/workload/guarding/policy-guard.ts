import {
  namespaceTenant,
  toPolicyOutcome,
  type PolicyInvocation,
  type JobInput,
  type PolicySetResult,
  type PolicyResult,
  type PolicyEngine,
} from '../../policy/index.ts'
import { redactSecrets } from './hide-secrets.ts'
import type { EnforcedPolicy, EnforcedPolicySet, PolicySource } from './policy-source.ts'
import { PolicyCodeCache } from './policy-texts.ts'

/** Result of a policy set, with the outcomes of its policies in order. */
export interface PolicySetVerdict extends PolicySetResult {
  readonly set: EnforcedPolicySet
}

/** Data that policies need besides the job. */
export interface PolicyInputOptions {
  readonly readsVariables: boolean
  /** Reports whether the authors of the policies may read a namespace. */
  readonly mayReadNamespace: (namespace: string) => boolean
}

export interface JobPolicyEvaluatorOptions {
  readonly source: PolicySource
  readonly engine: PolicyEngine
}

/** Evaluates the policies of a namespace on a job. Decides nothing. */
export class JobPolicyEvaluator {
  readonly #source: PolicySource
  readonly #engine: PolicyEngine
  readonly #code: PolicyCodeCache

  constructor({ source, engine }: JobPolicyEvaluatorOptions) {
    this.#source = source
    this.#engine = engine
    this.#code = new PolicyCodeCache(source)
  }

  /** Returns the current policy sets of a namespace that have policies. */
  policySetsFor(namespace: string): readonly EnforcedPolicySet[] {
    if (!this.#source.hasPolicies()) return NO_SETS
    return this.#source.policySetsFor(namespace).filter(({ policies }) => policies.length > 0)
  }

  /** Reports whether overriding a set requires a comment. */
  requiresComment({ id }: EnforcedPolicySet): boolean {
    return this.#source.requiresComment(id)
  }

  /** Evaluates each organization's sets separately: they have different input. */
  async evaluate(
    sets: readonly EnforcedPolicySet[],
    subjectFor: (needs: PolicyInputOptions) => JobInput,
  ): Promise<readonly PolicySetVerdict[]> {
    const setsByOrganization = Map.groupBy(sets, ({ organizationId }) => organizationId).values()
    const verdicts = await Promise.all(
      Array.from(
        setsByOrganization,
        async (organizationSets) => await this.#evaluateOrganization(organizationSets, subjectFor),
      ),
    )
    const verdictBySet = new Map(verdicts.flat().map((verdict) => [verdict.set, verdict]))
    return sets.flatMap((set) => verdictBySet.get(set) ?? [])
  }

  /** Evaluates all policies of an organization at once: their input is built once. */
  async #evaluateOrganization(
    sets: readonly EnforcedPolicySet[],
    subjectFor: (needs: PolicyInputOptions) => JobInput,
  ): Promise<readonly PolicySetVerdict[]> {
    const organizationId = sets[0]?.organizationId
    const policies = sets.flatMap((set) => set.policies)
    const texts = await Promise.all(policies.map((policy) => this.#code.find(policy)))
    const readsVariables = texts.some((text) => text?.readsVariables === true)
    const requests = policies.flatMap(({ params }, at): PolicyInvocation[] => {
      const policy = texts[at]?.code
      return policy === undefined ? [] : [{ policy, params }]
    })
    const mayReadNamespace = (namespace: string): boolean =>
      (this.#source.organizationOf(namespace) ?? organizationId) === organizationId
    const subject = subjectFor({ readsVariables, mayReadNamespace })
    const origin = { tenant: namespaceTenant(subject.namespace) }
    const judgements = (await this.#engine.evaluate(subject, requests, origin)).values()
    const judgementOf = new Map<EnforcedPolicy, PolicyResult>()
    for (const [at, policy] of policies.entries())
      judgementOf.set(
        policy,
        texts[at] === undefined ? CODE_MISSING : (judgements.next().value ?? NOT_EVALUATED),
      )
    return sets.map((set) => {
      const verdict = buildSetVerdict(set, judgementOf)
      if (verdict.outcomes.every(({ findings }) => findings.length === 0)) return verdict
      return { ...verdict, outcomes: redactSecrets(verdict.outcomes, subject, set) }
    })
  }
}

const NO_SETS: readonly EnforcedPolicySet[] = []

function buildSetVerdict(
  set: EnforcedPolicySet,
  judgementOf: ReadonlyMap<EnforcedPolicy, PolicyResult>,
): PolicySetVerdict {
  const { name, overridable, policies } = set
  const outcomes = policies.map((policy) =>
    toPolicyOutcome(policy, judgementOf.get(policy) ?? NOT_EVALUATED, overridable),
  )
  return { set, name, overridable, outcomes }
}

/** Error that fails closed. The next attempt finds the replacing code. */
const CODE_MISSING = erroredJudgement('the code of the policy is not stored any more')
const NOT_EVALUATED = erroredJudgement('the policy was not asked')

function erroredJudgement(message: string): PolicyResult {
  const finding = { rule: null, line: null, column: null, message }
  return { status: 'errored', output: [], findings: [finding] }
}

import type { v2 } from '@reeve/contract'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { LIMITS } from '../../model/index.ts'
import {
  namespaceTenant,
  toPolicyOutcome,
  type PolicyInvocation,
  type JobInput,
  type PolicySetResult,
  type PolicyResult,
  type PolicyEngine,
  SecretCollector,
  withoutSecrets,
  type PolicyDefinition,
} from '../../policy/index.ts'
import type { EnforcedPolicy, EnforcedPolicySet, PolicySource } from './policy-source.ts'

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

interface JobPolicyEvaluatorOptions {
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

const SECRET_MASK = '(hidden)'

/**
 * Removes secret values from the findings of policies. The submitter of a job sees the findings,
 * and need not have permission to read variables or sensitive parameters.
 */
function redactSecrets(
  outcomes: readonly v2.PolicyOutcome[],
  { variables }: Pick<JobInput, 'variables'>,
  { secrets: parameterSecrets }: Pick<EnforcedPolicySet, 'secrets'>,
): readonly v2.PolicyOutcome[] {
  const secrets = new SecretCollector()
  secrets.add(parameterSecrets)
  for (const items of variables.values()) secrets.add(items)
  const texts = secrets.encodedValues()
  return outcomes.map((outcome) => withoutSecrets(withoutDetails(outcome), texts, SECRET_MASK))
}

/** Removes output and values, which may be long and are not shown for jobs. */
function withoutDetails(outcome: v2.PolicyOutcome): v2.PolicyOutcome {
  const findings = outcome.findings.map(({ value: _, ...shown }) => shown)
  return { ...outcome, output: [], findings }
}

/** Other systems prefix `_var` with their own name; see `policy/native-input.ts`. */
const VARIABLE_IMPORT_PATTERN = /\b[a-z]+_var\b/

/** Policy code in the form used for evaluation. */
interface CachedPolicy {
  readonly code: PolicyDefinition
  /** True if it may read variables, which are collected only then. */
  readonly readsVariables: boolean
}

/** Caches policy code by hash, so entries never become stale. */
class PolicyCodeCache {
  readonly #source: Pick<PolicySource, 'readCode'>
  readonly #cache = new LruCache<string, CachedPolicy>({
    weightMax: LIMITS.policyTextCharsMax,
    countMax: LIMITS.policyTextsMax,
    weigh: (_, { code }) => code.code.length,
  })

  constructor(source: Pick<PolicySource, 'readCode'>) {
    this.#source = source
  }

  /** Undefined if the code is no longer stored. */
  async find(policy: EnforcedPolicy): Promise<CachedPolicy | undefined> {
    const { codeHash, kind, name, query } = policy
    const key = JSON.stringify([codeHash, kind, name, query])
    const cached = this.#cache.get(key)
    if (cached !== undefined) return cached
    const code = await this.#source.readCode(codeHash)
    if (code === undefined) return undefined
    const readsVariables = kind === 'native' && VARIABLE_IMPORT_PATTERN.test(code)
    const entry: CachedPolicy = { code: { name, kind, query, code }, readsVariables }
    this.#cache.set(key, entry)
    return entry
  }
}

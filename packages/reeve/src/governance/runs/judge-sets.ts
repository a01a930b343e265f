import type { v2 } from '@reeve/contract'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import type { JudgedSetRow } from '../../model/index.ts'
import {
  outcomeOf,
  Secrets,
  withoutSecrets,
  type AskedPolicy,
  type AskedSubject,
  type AskingOrigin,
  type Judgement,
  type PlainObject,
} from '../../policy/index.ts'
import type { GovernanceContext } from '../context.ts'
import { readPolicyCode, type AppliedPolicy } from '../policy-sets/applying-sets.ts'
import type { FrozenSet } from './frozen-sets.ts'

/** Stored outputs of one policy. */
const OUTPUTS_MAX = 100
const FINDINGS_MAX = 100
export const OUTPUT_CHARS_MAX = 64 * 1024
const MESSAGE_CHARS_MAX = 2_000

type Judging = Pick<GovernanceContext, 'store' | 'policyAsker'>

export interface JudgedPlan {
  /** Validated JSON; it is parsed where policies are evaluated. */
  readonly plan: Uint8Array
  /** Attributes of the run for policies. */
  readonly run: PlainObject
  readonly origin: AskingOrigin
}

/** Evaluates every policy of every set for a plan. A policy in two sets is evaluated twice. */
export async function judgeSets(
  context: Judging,
  sets: readonly FrozenSet[],
  { plan, run, origin }: JudgedPlan,
): Promise<readonly JudgedSetRow[]> {
  const said = new Map<AppliedPolicy, Judgement>()
  for (const kind of ['opa', 'native'] as const) {
    const policies = sets.flatMap((set) => (set.kind === kind ? set.policies : []))
    if (policies.length === 0) continue
    const subject: AskedSubject = {
      kind: 'stored-plan',
      bytes: plan,
      run: kind === 'opa' ? withoutUnset(run) : run,
    }
    const judgements = await askAll(context, policies, { subject, origin })
    for (const [at, policy] of policies.entries()) said.set(policy, judgements[at] ?? UNASKED)
  }
  // Secrets of the plan are masked where policies are evaluated.
  return sets.map((set) => judgedSet(set, said, secretsOf(set)))
}

/** Users who may read a run may lack access to the sensitive parameters of its sets. */
function secretsOf(set: FrozenSet): readonly string[] {
  const secrets = new Secrets()
  secrets.add(set.secrets)
  // Longest first, because one may contain another.
  return secrets.texts().toSorted((a, b) => b.length - a.length)
}

/** Removes absent attributes, which are undefined for `opa`. */
function withoutUnset(run: PlainObject): PlainObject {
  const unset = ['target_addrs', 'replace_addrs'].filter((name) => run[name] === null)
  return Object.fromEntries(Object.entries(run).filter(([name]) => !unset.includes(name)))
}

/** Returns one judgement per policy. A policy whose code is missing fails closed. */
async function askAll(
  { store, policyAsker }: Judging,
  policies: readonly AppliedPolicy[],
  { subject, origin }: { readonly subject: AskedSubject; readonly origin: AskingOrigin },
): Promise<readonly Judgement[]> {
  const codes = new Map<string, string | undefined>()
  // A blob is readable once it is durable.
  await store.settled()
  for (const { codeHash } of policies)
    if (!codes.has(codeHash)) codes.set(codeHash, await readPolicyCode(store, codeHash))
  const asked: AskedPolicy[] = []
  for (const { name, kind, query, codeHash, params } of policies) {
    const code = codes.get(codeHash)
    if (code !== undefined) asked.push({ policy: { name, kind, query, code }, params })
  }
  const judgements = (await policyAsker.ask(subject, asked, origin)).values()
  return policies.map(({ codeHash }) =>
    codes.get(codeHash) === undefined ? CODE_GONE : (judgements.next().value ?? UNASKED),
  )
}

const CODE_GONE = errored('the code of the policy is not stored any more')
const UNASKED = errored('the policy was not asked')

function errored(message: string): Judgement {
  const finding = { rule: null, line: null, column: null, message }
  return { status: 'errored', output: [], findings: [finding] }
}

function judgedSet(
  set: FrozenSet,
  said: ReadonlyMap<AppliedPolicy, Judgement>,
  secrets: readonly string[],
): JudgedSetRow {
  const { id, name, description, overridable, toolVersion } = set
  const warnings: string[] = []
  const outcomes = set.policies.map((policy) => {
    const { judgement, warning } = bounded(said.get(policy) ?? UNASKED, secrets)
    if (warning !== '') warnings.push(`${policy.name}: ${warning}`)
    return outcomeOf(policy, judgement, overridable)
  })
  return { id, name, description, overridable, toolVersion, error: '', warnings, outcomes }
}

/** Limits the size of a judgement, and adds notes about omitted and unusual parts. */
export function bounded(
  judgement: Judgement,
  secrets: readonly string[] = [],
): {
  readonly judgement: Judgement
  readonly warning: string
} {
  const output: unknown[] = []
  let chars = 0
  for (const item of judgement.output.slice(0, OUTPUTS_MAX)) {
    const room = OUTPUT_CHARS_MAX - chars
    // Printed output is one text, which is truncated.
    const fitting = isPrinted(item) ? { print: truncateText(item.print, room) } : item
    chars += isPrinted(item)
      ? Math.min(item.print.length, room)
      : (JSON.stringify(item)?.length ?? 0)
    if (chars > OUTPUT_CHARS_MAX) break
    output.push(fitting)
  }
  const kept = { ...judgement, output, findings: judgement.findings.slice(0, FINDINGS_MAX) }
  const told = withoutSecrets(kept, secrets)
  // Truncated after redaction, because a truncated secret would not be recognised.
  const findings = told.findings.map(boundedFinding)
  const left = judgement.output.length - output.length
  const unfound = judgement.findings.length - findings.length
  const parts = [
    ...(judgement.warning === undefined ? [] : [judgement.warning]),
    ...(left > 0 ? [`${left} more outputs are not kept`] : []),
    ...(unfound > 0 ? [`${unfound} more findings are not kept`] : []),
  ]
  return { judgement: { ...told, findings }, warning: parts.join('; ') }
}

/** Distinguishes printed output from a policy result with a member of the same name. */
function isPrinted(item: unknown): item is { readonly print: string } {
  if (typeof item !== 'object' || item === null || !('print' in item)) return false
  return typeof item.print === 'string' && Object.keys(item).length === 1
}

function boundedFinding({ value, ...finding }: v2.PolicyFinding): v2.PolicyFinding {
  const message = finding.message.slice(0, MESSAGE_CHARS_MAX)
  const isSmall = value !== undefined && JSON.stringify(value).length <= MESSAGE_CHARS_MAX
  return { ...finding, message, ...(isSmall ? { value } : {}) }
}

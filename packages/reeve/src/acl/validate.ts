import type { AclPolicyRecord, AclToken, Namespace, NodePool } from '@reeve/contract'
import type { RuleAliases } from '../compat/index.ts'
import { formatDurationNs, nsFromMs } from '@reeve/kit/duration.ts'
import { formatMultiError } from '@reeve/kit/multi-error.ts'
import { isSchedulerAlgorithm, LIMITS } from '../model/index.ts'
import { ACL_LINKS_MAX } from './limits.ts'
import { parseAclRules } from './parse-rules.ts'
import { clipped } from './shown.ts'

/** Names of policies, roles and namespaces. */
const NAME = /^[a-zA-Z0-9-]{1,128}$/

/** A token that is about to be stored, and the one it replaces. */
export interface TokenCandidate {
  readonly token: Pick<AclToken, 'Name' | 'Policies' | 'Global'> & {
    readonly Type: string
    readonly Roles: readonly unknown[] | null
  }
  /** When the token is or was made. */
  readonly createMs: number
  readonly expirationMs: number | undefined
  readonly ttlNs: number | undefined
  /** Undefined when the token is new. */
  readonly existing: ExistingToken | undefined
}

interface ExistingToken {
  readonly Global: boolean
  readonly expirationMs: number | undefined
  readonly ttlNs: number | undefined
}

/** Why a token cannot be stored; undefined when it can. */
export function validateToken(candidate: TokenCandidate): string | undefined {
  const { token, existing } = candidate
  const problems = [
    token.Name.length > LIMITS.tokenNameCharsMax && 'token name too long',
    tokenTypeProblem(token),
    tooManyLinks(token.Policies, 'token', 'policies'),
    tooManyLinks(token.Roles, 'token', 'roles'),
    ...(existing === undefined ? expiryProblems(candidate) : changeProblems(candidate, existing)),
  ]
  return told('token 0 invalid', problems)
}

function tokenTypeProblem({ Type, Policies, Roles }: TokenCandidate['token']): Problem {
  const links = (Policies?.length ?? 0) + (Roles?.length ?? 0)
  if (Type === 'client') return links === 0 && 'client token missing policies or roles'
  if (Type !== 'management') return 'token type must be client or management'
  return links > 0 && 'management token cannot be associated with policies or roles'
}

function expiryProblems({ createMs, expirationMs, ttlNs }: TokenCandidate): readonly Problem[] {
  const isNegative = ttlNs !== undefined && ttlNs < 0
  const ttl = `token expiration TTL '${formatDurationNs(ttlNs ?? 0)}' should not be negative`
  if (expirationMs === undefined) return [isNegative && ttl]
  const lifeMs = expirationMs - createMs
  const { tokenTtlMsMin: min, tokenTtlMsMax: max } = LIMITS
  const was = `in the future (was ${durationText(lifeMs)})`
  return [
    isNegative && ttl,
    lifeMs < 0 && 'expiration time cannot be before create time',
    lifeMs > max && `expiration time cannot be more than ${durationText(max)} ${was}`,
    lifeMs < min && `expiration time cannot be less than ${durationText(min)} ${was}`,
  ]
}

function durationText(ms: number): string {
  return formatDurationNs(nsFromMs(ms))
}

/** A token cannot switch between global and local. */
function changeProblems(candidate: TokenCandidate, existing: ExistingToken): readonly Problem[] {
  const { token, ttlNs, expirationMs } = candidate
  return [
    token.Global !== existing.Global && 'cannot toggle global mode',
    ttlNs !== existing.ttlNs && 'cannot update expiration TTL',
    expirationMs !== existing.expirationMs && 'cannot update expiration time',
  ]
}

/** Why a policy cannot be stored; undefined when it can. */
export function validatePolicy(
  policy: Pick<AclPolicyRecord, 'Name' | 'Description' | 'Rules' | 'JobACL'>,
  aliases?: RuleAliases,
): string | undefined {
  const rules = parseAclRules(policy.Rules, aliases)
  const { Namespace = '', JobID = '', Group = '', Task = '' } = policy.JobACL ?? {}
  return told('policy 0 invalid', [
    !NAME.test(policy.Name) && `invalid name '${clipped(policy.Name)}'`,
    !rules.ok && `failed to parse rules: ${rules.error}`,
    descriptionProblem(policy),
    JobID !== '' && Namespace === '' && 'namespace must be set to set job ID',
    Group !== '' && JobID === '' && 'job ID must be set to set group',
    Task !== '' && Group === '' && 'group must be set to set task',
  ])
}

/** Why a role cannot be stored, as far as it alone can tell; undefined when it can. */
export function validateRole(role: {
  readonly Name: string
  readonly Description: string
  readonly Policies: readonly unknown[]
}): string | undefined {
  return told('role 0 invalid', [
    !NAME.test(role.Name) && `invalid name '${clipped(role.Name)}'`,
    descriptionProblem(role),
    role.Policies.length === 0 && 'at least one policy should be specified',
    tooManyLinks(role.Policies, 'role', 'policies'),
  ])
}

/** Why a namespace cannot be stored; undefined when it can. */
export function validateNamespace(
  namespace: Pick<Namespace, 'Name' | 'Description'>,
): string | undefined {
  const name = clipped(namespace.Name)
  return told(`Invalid namespace "${name}"`, [
    !NAME.test(namespace.Name) && `invalid name "${name}". Must match regex ^[a-zA-Z0-9-]{1,128}$`,
    descriptionProblem(namespace),
  ])
}

/** Names of node pools may also have underscores. */
const POOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/

/** Why a node pool cannot be stored; undefined when it can. */
export function validateNodePool(
  pool: Pick<NodePool, 'Name' | 'Description' | 'SchedulerConfiguration'>,
): string | undefined {
  const name = clipped(pool.Name)
  const algorithm = pool.SchedulerConfiguration?.SchedulerAlgorithm ?? ''
  return told(`invalid node pool "${name}"`, [
    !POOL_NAME.test(pool.Name) && `invalid name "${name}", must match regex ^[a-zA-Z0-9-_]{1,128}$`,
    descriptionProblem(pool),
    algorithm !== '' &&
      !isSchedulerAlgorithm(algorithm) &&
      `invalid scheduler algorithm: ${clipped(algorithm)}`,
  ])
}

/** A finding, or false when the rule holds. */
type Problem = string | false

function descriptionProblem({ Description }: { readonly Description: string }): Problem {
  const max = LIMITS.descriptionCharsMax
  return Description.length > max && `description longer than ${max}`
}

function tooManyLinks(links: readonly unknown[] | null, owner: string, what: string): Problem {
  return (links?.length ?? 0) > ACL_LINKS_MAX && `${owner} has more than ${ACL_LINKS_MAX} ${what}`
}

function told(what: string, problems: readonly Problem[]): string | undefined {
  const found = problems.filter((problem) => problem !== false)
  return found.length === 0 ? undefined : `${what}: ${formatMultiError(found)}`
}

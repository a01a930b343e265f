import type {
  AclToken,
  HostVolumeCapability,
  NamespaceCapability,
  NodePoolCapability,
  OperatorCapability,
  VariableCapability,
} from '@reeve/contract'
import { matchGlob } from '@reeve/kit/glob.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { CACHED_NAME_LENGTH_MAX, LOOKUP_CACHE_SIZE_MAX } from './limits.ts'
import type { AclRules, PolicyShorthand } from './rules.ts'

type Access = 'read' | 'write'

/** Permissions of a caller. Everything that is not granted is denied. */
export interface Grants {
  /** All permissions, including the administration of ACLs. */
  readonly isManagement: boolean
  /**
   * Reports whether the namespace grants the capability. `register-job` and the other fine-grained
   * ones are alternatives to `submit-job`; the caller of this method checks for either.
   */
  allows(namespace: string, capability: NamespaceCapability): boolean
  /**
   * Reports whether any namespace rule grants the capability, as needed for lists over all
   * namespaces.
   */
  allowsInAnyNamespace(capability: NamespaceCapability): boolean
  /** Reports whether the namespace grants any capability. */
  canSeeNamespace(namespace: string): boolean
  node(access: Access): boolean
  agent(access: Access): boolean
  quota(access: Access): boolean
  operator(access: Access | OperatorCapability): boolean
  plugin(access: 'list' | Access): boolean
  nodePool(pool: string, capability: NodePoolCapability): boolean
  /** Reports whether any node pool rule grants the capability. */
  allowsAnyNodePool(capability: NodePoolCapability): boolean
  hostVolume(volume: string, capability: HostVolumeCapability): boolean
  variable(namespace: string, path: string, capability: VariableCapability): boolean
  /**
   * Reports whether a rule for some path of the namespace grants the capability; `*` means any
   * namespace.
   */
  allowsAnyVariable(namespace: string, capability: VariableCapability): boolean
}

const always = (): boolean => true

export const MANAGEMENT_GRANTS: Grants = {
  isManagement: true,
  allows: always,
  allowsInAnyNamespace: always,
  canSeeNamespace: always,
  node: always,
  agent: always,
  quota: always,
  operator: always,
  plugin: always,
  nodePool: always,
  allowsAnyNodePool: always,
  hostVolume: always,
  variable: always,
  allowsAnyVariable: always,
}

/** Combines the permissions of all documents; their order does not matter. */
export function compileGrants(documents: readonly AclRules[]): Grants {
  const namespaces = compileLabelRules(
    documents.flatMap((rules) => (rules.Namespaces ?? []).map(asLabelRule)),
  )
  const pools = compileLabelRules(
    documents.flatMap((rules) => (rules.NodePools ?? []).map(asLabelRule)),
  )
  const volumes = compileLabelRules(
    documents.flatMap((rules) => (rules.HostVolumes ?? []).map(asLabelRule)),
  )
  return {
    isManagement: false,
    allows: (namespace, capability) => namespaces.capabilitiesFor(namespace).has(capability),
    allowsInAnyNamespace: (capability) => namespaces.any(capability),
    canSeeNamespace: (namespace) => namespaces.capabilitiesFor(namespace).size > 0,
    node: compileLevel(documents.map((rules) => rules.Node?.Policy)),
    agent: compileLevel(documents.map((rules) => rules.Agent?.Policy)),
    quota: compileLevel(documents.map((rules) => rules.Quota?.Policy)),
    plugin: compileLevel(documents.map((rules) => rules.Plugin?.Policy)),
    operator: compileOperator(documents),
    nodePool: (pool, capability) => pools.capabilitiesFor(pool).has(capability),
    allowsAnyNodePool: (capability) => pools.any(capability),
    hostVolume: (volume, capability) => volumes.capabilitiesFor(volume).has(capability),
    variable: compileVariables(documents),
    allowsAnyVariable: compileAnyVariable(documents),
  }
}

function asLabelRule<C extends string>(rule: {
  readonly Name: string
  readonly Capabilities: readonly C[]
}): LabelRule<C> {
  return { label: rule.Name, capabilities: rule.Capabilities }
}

const STRENGTH = { list: 1, read: 2, write: 3 } as const

/** Returns the highest level: deny > write > read > list. `scale` has no effect here. */
function compileLevel(
  policies: readonly (PolicyShorthand | undefined)[],
): (access: keyof typeof STRENGTH) => boolean {
  let strength = 0
  for (const policy of policies)
    if (policy === 'list' || policy === 'read' || policy === 'write')
      strength = Math.max(strength, STRENGTH[policy])
  if (policies.includes('deny')) strength = 0
  return (access) => STRENGTH[access] <= strength
}

/** A `deny` among the capabilities acts like the policy `deny`: it revokes all permissions. */
function compileOperator(documents: readonly AclRules[]): Grants['operator'] {
  const rules = documents.flatMap((one) => (one.Operator === null ? [] : [one.Operator]))
  const capabilities = new Set(rules.flatMap((rule) => rule.Capabilities))
  if (capabilities.has('deny')) return () => false
  const level = compileLevel(rules.map((rule) => rule.Policy))
  return (access) =>
    access === 'read' || access === 'write' ? level(access) : capabilities.has(access)
}

/**
 * Separator that no namespace or path contains, so a wildcard in one part cannot match the other.
 */
const SEPARATOR = '\u0000'

/** Matches namespace and path as one joined string. */
function compileVariables(documents: readonly AclRules[]): Grants['variable'] {
  const rules = documents.flatMap((one) => one.Namespaces ?? [])
  const lookup = compileLabelRules(
    rules.flatMap((rule) =>
      (rule.Variables?.Paths ?? []).map(({ PathSpec, Capabilities }) => ({
        label: `${rule.Name}${SEPARATOR}${PathSpec}`,
        capabilities: Capabilities,
      })),
    ),
  )
  return (namespace, path, capability) =>
    !namespace.includes(SEPARATOR) &&
    !path.includes(SEPARATOR) &&
    lookup.capabilitiesFor(`${namespace}${SEPARATOR}${path}`).has(capability)
}

/** For lists and streams over many paths; each path is checked separately afterwards. */
function compileAnyVariable(documents: readonly AclRules[]): Grants['allowsAnyVariable'] {
  const rules = documents.flatMap((one) => one.Namespaces ?? [])
  return (namespace, capability) =>
    rules.some(
      ({ Name, Variables }) =>
        (namespace === '*' || Name === namespace || matchGlob(Name, namespace)) &&
        (Variables?.Paths ?? []).some(
          ({ Capabilities }) => Capabilities.includes(capability) && !Capabilities.includes('deny'),
        ),
    )
}

const NONE: ReadonlySet<never> = new Set<never>()

export const NO_GRANTS: Grants = compileGrants([])

/** Fields of a token that define its permissions. */
type TokenPermissions = Pick<AclToken, 'Type' | 'Policies'> & {
  readonly Roles: readonly { readonly ID: string }[] | null
}

/** Lookup of policies and roles. Missing ones grant nothing. */
interface GrantLookups {
  policyRules(name: string): AclRules | undefined
  /** Names of a role's policies, by the role's id. */
  rolePolicies(id: string): readonly string[] | undefined
}

/** Returns the combined permissions of a token's own policies and those of its roles. */
export function resolveGrants(token: TokenPermissions, lookups: GrantLookups): Grants {
  if (token.Type === 'management') return MANAGEMENT_GRANTS
  const documents: AclRules[] = []
  for (const name of policyNamesOf(token, lookups)) {
    const rules = lookups.policyRules(name)
    if (rules !== undefined) documents.push(rules)
  }
  return compileGrants(documents)
}

/** Returns the names of a token's policies, its own and those of its roles, each once. */
export function policyNamesOf(
  token: Omit<TokenPermissions, 'Type'>,
  lookups: Pick<GrantLookups, 'rolePolicies'>,
): ReadonlySet<string> {
  const names = new Set(token.Policies ?? [])
  for (const { ID } of token.Roles ?? [])
    for (const name of lookups.rolePolicies(ID) ?? []) names.add(name)
  return names
}

/** Author of a request, with its permissions. */
export interface Caller {
  readonly grants: Grants
  /** Empty if ACLs are disabled, `anonymous` for a request without a token. */
  readonly accessorId: string
  readonly name: string
  readonly type: 'management' | 'client' | 'anonymous' | 'disabled'
  /** Expiry of the token; undefined if it does not expire. */
  readonly expiresMs: number | undefined
}

/** A rule for one name or pattern. */
interface LabelRule<C extends string> {
  readonly label: string
  readonly capabilities: readonly C[]
}

/** Rules by name. */
interface LabelLookup<C extends string> {
  /** Returns the capabilities for a name; none if it is denied or no rule matches. */
  capabilitiesFor(name: string): ReadonlySet<C>
  /** Reports whether a rule of any label grants the capability. */
  any(capability: C): boolean
}

/** Merges the rules of all policies of a token by label. */
function compileLabelRules<C extends string>(rules: Iterable<LabelRule<C>>): LabelLookup<C> {
  const merged = mergeRules(rules)
  const patterns = [...merged].filter(([label]) => label.includes('*')).toSorted(bySpecificity)
  const find = (name: string): ReadonlySet<C> =>
    patterns.find(([pattern]) => matchGlob(pattern, name))?.[1] ?? NONE
  const closest = patterns.length === 0 ? find : memoize(find)
  const exact = new Map([...merged].filter(([label]) => !label.includes('*')))
  const granted = new Set([...merged.values()].flatMap((capabilities) => [...capabilities]))
  return {
    capabilitiesFor: (name) => exact.get(name) ?? closest(name),
    any: (capability) => granted.has(capability),
  }
}

/** Merges rules with equal labels; one `deny` leaves no capabilities. */
function mergeRules<C extends string>(rules: Iterable<LabelRule<C>>): ReadonlyMap<string, Set<C>> {
  const merged = new Map<string, Set<C>>()
  const denied = new Set<string>()
  for (const { label, capabilities } of rules) {
    const capabilitiesOfLabel = merged.get(label) ?? new Set<C>()
    merged.set(label, capabilitiesOfLabel)
    for (const capability of capabilities) {
      if (capability === 'deny') denied.add(label)
      capabilitiesOfLabel.add(capability)
    }
  }
  for (const label of denied) merged.get(label)?.clear()
  return merged
}

/**
 * Sorts patterns from the closest. The closest has the smallest len(name) − len(pattern) + stars;
 * the name is the same for all patterns, so the order is fixed: most characters other than stars
 * first, then by code unit.
 */
function bySpecificity([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return plainLength(b) - plainLength(a) || compareText(a, b)
}

function plainLength(pattern: string): number {
  return pattern.replaceAll('*', '').length
}

/** Caches the results for the names that were used last. */
function memoize<T>(find: (name: string) => T): (name: string) => T {
  const cache = new LruCache<string, T>({ weightMax: LOOKUP_CACHE_SIZE_MAX })
  return (name) => {
    const cached = cache.get(name)
    if (cached !== undefined) return cached
    const found = find(name)
    if (name.length > CACHED_NAME_LENGTH_MAX) return found
    cache.set(name, found)
    return found
  }
}

import type { GovernanceAliases } from '../../compat/index.ts'

export type MemberNames = Pick<GovernanceAliases, 'members' | 'nested' | 'values' | 'policyKinds'>

export type ResponseNames = Pick<GovernanceAliases, 'memberHeaders' | 'nested' | 'responseMembers'>

/** Adds the names that a client reads to the resources of a response, if it is such a client. */
export function withClientMembers(
  document: object,
  headers: Readonly<Record<string, unknown>>,
  names: ResponseNames,
): object {
  const isClient = names.memberHeaders.some(({ name, prefix }) => {
    const value = headers[name]
    return typeof value === 'string' && value.startsWith(prefix)
  })
  if (!isClient) return document
  const named = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(named)
    if (!isObject(value) || !isObject(value['attributes'])) return value
    return { ...value, attributes: withBothNames(value['attributes'], names) }
  }
  return Object.fromEntries(
    Object.entries(document).map(([name, value]: [string, unknown]) => [
      name,
      name === 'data' || name === 'included' ? named(value) : value,
    ]),
  )
}

function withBothNames(
  members: Readonly<Record<string, unknown>>,
  { nested, responseMembers }: ResponseNames,
): Readonly<Record<string, unknown>> {
  const added = Object.entries(responseMembers).flatMap(([own, { name, absent }]) =>
    Object.hasOwn(members, own) ? [[name, members[own] ?? absent] as const] : [],
  )
  const objects = nested.flatMap((name) => {
    const value = members[name]
    if (!isObject(value)) return []
    return [
      [name, withBothNames(value, { nested: [], memberHeaders: [], responseMembers })] as const,
    ]
  })
  return { ...members, ...Object.fromEntries([...added, ...objects]) }
}

/** Replaces aliases of attributes and of their values in a request. */
export function knownMembers(document: unknown, aliases: MemberNames): unknown {
  if (isEmpty(aliases) || !isObject(document)) return document
  const { data } = document
  if (Array.isArray(data))
    return { ...document, data: data.map((one) => knownResource(one, aliases)) }
  return isObject(data) ? { ...document, data: knownResource(data, aliases) } : document
}

function knownResource(resource: unknown, aliases: MemberNames): unknown {
  if (!isObject(resource) || !isObject(resource['attributes'])) return resource
  return { ...resource, attributes: knownAttributes(resource['attributes'], aliases) }
}

function knownAttributes(
  attributes: Readonly<Record<string, unknown>>,
  aliases: MemberNames,
): Readonly<Record<string, unknown>> {
  const entries = Object.entries(attributes)
  const names = new Set(entries.map(([name]) => name))
  const known = entries.map(([name, value]): [string, unknown] => {
    if (aliases.nested.includes(name) && isObject(value))
      return [name, knownAttributes(value, { ...aliases, nested: [] })]
    const own = ownName(aliases.members, name)
    // If both names are sent, the alias is ignored.
    const isCanonical = own === undefined || names.has(own)
    return isCanonical ? [name, knownValue(aliases, name, value)] : [own, value]
  })
  return Object.fromEntries(known)
}

function ownName(members: MemberNames['members'], name: string): string | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function knownValue({ values, policyKinds }: MemberNames, name: string, value: unknown): unknown {
  if (name === 'enforce' && Array.isArray(value))
    return value.map((entry) => withCanonicalFile(entry, policyKinds))
  const words = Object.hasOwn(values, name) ? values[name] : undefined
  if (words === undefined || typeof value !== 'string') return value
  return Object.hasOwn(words, value) ? words[value] : value
}

/** An entry of `enforce` names the policy's file, whose suffix is its kind. */
function withCanonicalFile(entry: unknown, kinds: MemberNames['policyKinds']): unknown {
  if (!isObject(entry) || typeof entry['path'] !== 'string') return entry
  const { path } = entry
  const other = Object.keys(kinds).find((kind) => path.endsWith(`.${kind}`))
  if (other === undefined) return entry
  return { ...entry, path: `${path.slice(0, -other.length)}${kinds[other]}` }
}

function isEmpty({ members, values, policyKinds }: MemberNames): boolean {
  return [members, values, policyKinds].every((names) => Object.keys(names).length === 0)
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

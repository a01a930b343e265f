import type { GovernanceAliases } from '../../compat/index.ts'

export type MemberNames = Pick<GovernanceAliases, 'members' | 'values'>

/** Replaces other names of attributes, and other words for their values, in a request. */
export function knownMembers(document: unknown, aliases: MemberNames): unknown {
  if (isEmpty(aliases) || !isObject(document)) return document
  const { data } = document
  if (Array.isArray(data))
    return { ...document, data: data.map((one) => knownResource(one, aliases)) }
  return isObject(data) ? { ...document, data: knownResource(data, aliases) } : document
}

function knownResource(resource: unknown, aliases: MemberNames): unknown {
  if (!isObject(resource) || !isObject(resource['attributes'])) return resource
  const entries = Object.entries(resource['attributes'])
  const names = new Set(entries.map(([name]) => name))
  const known = entries.map(([name, value]): [string, unknown] => {
    const own = ownName(aliases.members, name)
    // Where both names are sent, ours counts.
    const isOurs = own === undefined || names.has(own)
    return isOurs ? [name, knownValue(aliases, name, value)] : [own, value]
  })
  return { ...resource, attributes: Object.fromEntries(known) }
}

function ownName(members: MemberNames['members'], name: string): string | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}

function knownValue({ values }: MemberNames, name: string, value: unknown): unknown {
  const words = Object.hasOwn(values, name) ? values[name] : undefined
  if (words === undefined || typeof value !== 'string') return value
  return Object.hasOwn(words, value) ? words[value] : value
}

function isEmpty({ members }: MemberNames): boolean {
  return Object.keys(members).length === 0
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import type { FlagSpec, CommandContext } from '../command.ts'
import { CommandError, EXIT_CODES, UsageError } from '../errors.ts'

export const ORGANIZATION_FLAG: FlagSpec = {
  usage: '--organization <NAME>',
  help: 'the organization (REEVE_ORGANIZATION); optional if there is only one',
}

/** Path parameters of organization routes. */
interface OrganizationParams {
  readonly organization_name: string
}

/** Resolves the organization from flag or environment, or the only one that the token may see. */
export async function resolveOrganization(invocation: CommandContext): Promise<OrganizationParams> {
  const { client, flags, host } = invocation
  const named = flags.string('organization') || host.environment['REEVE_ORGANIZATION']
  if (named) return { organization_name: named }
  const { data } = await client.v2.listOrganizations()
  const [only, ...others] = data.data
  if (only === undefined) {
    throw new CommandError('There is no organization yet, or none that this token may see.', {
      code: EXIT_CODES.missing,
      hint: 'Make one with "reeve org create NAME --email you@example.com".',
    })
  }
  if (others.length === 0) return { organization_name: only.id }
  const names = data.data.map(({ id }) => id).join(', ')
  throw new UsageError(`Name the organization with --organization: there are ${names}.`)
}

export const TAG_FLAG: FlagSpec = {
  usage: '--tag <KEY=VALUE>',
  help: 'a tag, KEY or KEY=VALUE',
  isRepeated: true,
}

interface NewTag {
  readonly type: 'tag-bindings'
  readonly attributes: { readonly key: string; readonly value?: string }
}

/** Parses tags such as `env=prod` and `audited`. */
export function parseTags(words: readonly string[]): readonly NewTag[] {
  return words.map((word) => {
    const at = word.indexOf('=')
    const [key, value] = at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)]
    if (key === '') throw new UsageError(`A tag is KEY or KEY=VALUE, not "${word}".`)
    return { type: 'tag-bindings', attributes: value === '' ? { key } : { key, value } }
  })
}

/** Returns the tag relationship of a request; empty if no tag is given. */
export function tagRelationship({ flags }: CommandContext): {
  readonly 'tag-bindings'?: { readonly data: NewTag[] }
} {
  const tags = flags.strings('tag')
  return tags.length === 0 ? {} : { 'tag-bindings': { data: [...parseTags(tags)] } }
}

interface TagBinding {
  readonly attributes: { readonly key: string; readonly value?: string | null }
}

/** Formats tags as `env=prod, audited`. */
export function formatTags(bindings: readonly TagBinding[]): string {
  return bindings
    .map(({ attributes: { key, value } }) => (value ? `${key}=${value}` : key))
    .join(', ')
}

// These flags are separate from the commands so that help does not load the contract.

export const SET_FLAGS: readonly FlagSpec[] = [
  { usage: '--env', help: 'environment variables instead of input variables' },
  { usage: '--hcl', help: 'the values are expressions, not text' },
  { usage: '--sensitive', help: 'store the values encrypted and never show them again' },
  { usage: '--description <TEXT>', help: 'description' },
]

export const UNSET_FLAGS: readonly FlagSpec[] = [
  { usage: '--env', help: 'environment variables instead of input variables' },
]

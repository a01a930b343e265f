import type { FlagSpec, CommandContext } from '../command.ts'
import { UsageError } from '../failure.ts'

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

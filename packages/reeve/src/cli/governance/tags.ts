import type { FlagSpec, Invocation } from '../command.ts'
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

/** `env=prod` and `audited` as bindings. */
export function newTags(words: readonly string[]): readonly NewTag[] {
  return words.map((word) => {
    const at = word.indexOf('=')
    const [key, value] = at < 0 ? [word, ''] : [word.slice(0, at), word.slice(at + 1)]
    if (key === '') throw new UsageError(`A tag is KEY or KEY=VALUE, not "${word}".`)
    return { type: 'tag-bindings', attributes: value === '' ? { key } : { key, value } }
  })
}

/** The relationship of a create or update, or nothing when no tag was given. */
export function tagRelationship({ flags }: Invocation): {
  readonly 'tag-bindings'?: { readonly data: NewTag[] }
} {
  const tags = flags.texts('tag')
  return tags.length === 0 ? {} : { 'tag-bindings': { data: [...newTags(tags)] } }
}

interface Binding {
  readonly attributes: { readonly key: string; readonly value?: string | null }
}

/** `env=prod, audited`. */
export function tagsText(bindings: readonly Binding[]): string {
  return bindings
    .map(({ attributes: { key, value } }) => (value ? `${key}=${value}` : key))
    .join(', ')
}

import { useId, useState } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Icon } from '../../parts/icon.tsx'

const TAGS_MAX = 10

export interface Tag {
  readonly key: string
  readonly value: string
}

/** What requests carry: `key` alone is a tag too. */
export function tagBindingsOf(tags: readonly Tag[]) {
  return {
    data: tags.map(({ key, value }) => ({
      type: 'tag-bindings' as const,
      attributes: { key, value },
    })),
  }
}

function TagList({ tags }: { readonly tags: readonly Tag[] }) {
  if (tags.length === 0) return <p className="quiet">No tags.</p>
  return (
    <ul className="row tags" aria-label="Tags">
      {tags.map((tag) => (
        <li key={tag.key} className="tag">
          {textOf(tag)}
        </li>
      ))}
    </ul>
  )
}

function textOf({ key, value }: Tag): string {
  return value === '' ? key : `${key}: ${value}`
}

interface TagEditorProps {
  readonly organization: string
  readonly tags: readonly Tag[]
  readonly refusal: Verdict
  /** Why tags may not be taken away, though others may be added. */
  readonly removal: Verdict
  /** Puts these in place of all there are, or only beside them; whether it was done. */
  readonly onSave: (tags: readonly Tag[], isWhole: boolean) => Promise<boolean>
}

/** The tags of a project or workspace as rows of key and value. */
export function TagEditor({ organization, tags, refusal, removal, onSave }: TagEditorProps) {
  const keysId = useId()
  const [draft, setDraft] = useState<readonly Tag[]>()
  if (draft === undefined)
    return (
      <div className="stack">
        <TagList tags={tags} />
        <div>
          <ActionButton refusal={refusal} onAct={() => setDraft([...tags, { key: '', value: '' }])}>
            Edit tags
          </ActionButton>
        </div>
      </div>
    )
  const change = (index: number, part: Partial<Tag>) =>
    setDraft(draft.map((tag, place) => (place === index ? { ...tag, ...part } : tag)))
  const given = draft.filter(({ key }) => key !== '')
  const isWhole = tags.some(({ key }) => !given.some((tag) => tag.key === key))
  const save = async () => {
    if (await onSave(given, isWhole)) setDraft(undefined)
  }
  return (
    <form className="stack" onSubmit={(event) => event.preventDefault()}>
      <ReservedKeys id={keysId} organization={organization} />
      {draft.map((tag, index) => (
        <TagRow
          key={index}
          tag={tag}
          keys={keysId}
          place={index + 1}
          onChange={(part) => change(index, part)}
          onRemove={() => setDraft(draft.filter((_, place) => place !== index))}
        />
      ))}
      <div className="row">
        <ActionButton
          refusal={draft.length >= TAGS_MAX ? `There may be ${TAGS_MAX} tags.` : undefined}
          onAct={() => setDraft([...draft, { key: '', value: '' }])}
        >
          Add a tag
        </ActionButton>
        <ActionButton
          kind="primary"
          refusal={faultIn(given) ?? (isWhole ? removal : undefined)}
          onAct={save}
          isSubmit
        >
          Save tags
        </ActionButton>
        <button type="button" className="button" onClick={() => setDraft(undefined)}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function faultIn(tags: readonly Tag[]): Verdict {
  const keys = tags.map(({ key }) => key)
  const twice = keys.find((key, index) => keys.indexOf(key) !== index)
  return twice === undefined ? undefined : `The key ${twice} is there twice.`
}

interface ReservedKeysProps {
  readonly id: string
  readonly organization: string
}

/** The keys that the organization suggests. */
function ReservedKeys({ id, organization }: ReservedKeysProps) {
  const { data } = useRead(['tag-keys', organization, 'offered'], (api, signal) =>
    api.v2.listReservedTagKeys({
      params: { organization_name: organization },
      query: { 'page[size]': 100 },
      signal,
    }),
  )
  return (
    <datalist id={id}>
      {data?.data.map(({ attributes }) => (
        <option key={attributes.key} value={attributes.key} />
      ))}
    </datalist>
  )
}

interface TagRowProps {
  readonly tag: Tag
  /** The id of the list of keys that are offered. */
  readonly keys: string
  readonly place: number
  readonly onChange: (part: Partial<Tag>) => void
  readonly onRemove: () => void
}

function TagRow({ tag, keys, place, onChange, onRemove }: TagRowProps) {
  return (
    <div className="row tag-row">
      <input
        aria-label={`Key of tag ${place}`}
        placeholder="key"
        list={keys}
        value={tag.key}
        onChange={(event) => onChange({ key: event.target.value })}
      />
      <input
        aria-label={`Value of tag ${place}`}
        placeholder="value (optional)"
        value={tag.value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <button type="button" className="icon-button" onClick={onRemove}>
        <Icon name="close" label={`Remove tag ${place}`} />
      </button>
    </div>
  )
}

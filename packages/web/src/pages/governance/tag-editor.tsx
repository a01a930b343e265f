import { useId, useState } from 'react'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiQuery } from '../../data/api-query.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Icon } from '../../components/icon.tsx'

const TAGS_MAX = 10

export interface Tag {
  readonly key: string
  readonly value: string
}

/** Returns the request body for tags; the value may be empty. */
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
          {tagText(tag)}
        </li>
      ))}
    </ul>
  )
}

function tagText({ key, value }: Tag): string {
  return value === '' ? key : `${key}: ${value}`
}

interface TagEditorProps {
  readonly organization: string
  readonly tags: readonly Tag[]
  readonly disabledReason: DisabledReason
  /** Why tags cannot be removed; they may still be added. */
  readonly removeDisabledReason: DisabledReason
  /** Replaces all tags, or adds to them; resolves to whether the request succeeded. */
  readonly onSave: (tags: readonly Tag[], isWhole: boolean) => Promise<boolean>
}

/** Edits the tags of a project or workspace as rows of key and value. */
export function TagEditor({
  organization,
  tags,
  disabledReason,
  removeDisabledReason,
  onSave,
}: TagEditorProps) {
  const keysId = useId()
  const [draft, setDraft] = useState<readonly Tag[]>()
  if (draft === undefined)
    return (
      <div className="stack">
        <TagList tags={tags} />
        <div>
          <ActionButton
            disabledReason={disabledReason}
            onAction={() => setDraft([...tags, { key: '', value: '' }])}
          >
            Edit tags
          </ActionButton>
        </div>
      </div>
    )
  const updateTag = (index: number, change: Partial<Tag>) =>
    setDraft(draft.map((tag, position) => (position === index ? { ...tag, ...change } : tag)))
  const entered = draft.filter(({ key }) => key !== '')
  const replace = tags.some(({ key }) => !entered.some((tag) => tag.key === key))
  const save = async () => {
    if (await onSave(entered, replace)) setDraft(undefined)
  }
  return (
    <form className="stack" onSubmit={(event) => event.preventDefault()}>
      <ReservedKeys id={keysId} organization={organization} />
      {draft.map((tag, index) => (
        <TagRow
          key={index}
          tag={tag}
          keysListId={keysId}
          position={index + 1}
          onChange={(change) => updateTag(index, change)}
          onRemove={() => setDraft(draft.filter((_, position) => position !== index))}
        />
      ))}
      <div className="row">
        <ActionButton
          disabledReason={draft.length >= TAGS_MAX ? `The maximum is ${TAGS_MAX} tags.` : undefined}
          onAction={() => setDraft([...draft, { key: '', value: '' }])}
        >
          Add a tag
        </ActionButton>
        <ActionButton
          kind="primary"
          disabledReason={tagsError(entered) ?? (replace ? removeDisabledReason : undefined)}
          onAction={save}
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

function tagsError(tags: readonly Tag[]): DisabledReason {
  const keys = tags.map(({ key }) => key)
  const duplicate = keys.find((key, index) => keys.indexOf(key) !== index)
  return duplicate === undefined ? undefined : `The key ${duplicate} is duplicated.`
}

interface ReservedKeysProps {
  readonly id: string
  readonly organization: string
}

/** The reserved tag keys as suggestions. */
function ReservedKeys({ id, organization }: ReservedKeysProps) {
  const { data } = useApiQuery(['tag-keys', organization, 'offered'], (api, signal) =>
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
  /** ID of the `datalist` with the suggested keys. */
  readonly keysListId: string
  readonly position: number
  readonly onChange: (part: Partial<Tag>) => void
  readonly onRemove: () => void
}

function TagRow({ tag, keysListId, position, onChange, onRemove }: TagRowProps) {
  return (
    <div className="row tag-row">
      <input
        aria-label={`Key of tag ${position}`}
        placeholder="key"
        list={keysListId}
        value={tag.key}
        onChange={(event) => onChange({ key: event.target.value })}
      />
      <input
        aria-label={`Value of tag ${position}`}
        placeholder="value (optional)"
        value={tag.value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <button type="button" className="icon-button" onClick={onRemove}>
        <Icon name="close" label={`Remove tag ${position}`} />
      </button>
    </div>
  )
}

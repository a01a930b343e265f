import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationCan } from '../../actions/governance-can.ts'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { usePages } from '../../data/use-pages.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import type { Column } from '../../parts/data-table.tsx'
import { EmptyState } from '../../parts/empty-state.tsx'
import { CheckField, FormDialog, TextField } from '../../parts/form.tsx'
import { PagedTable } from '../../parts/paged-table.tsx'
import type { OrganizationView } from './organization-view.ts'

/** Tag keys that the organization suggests, and may keep workspaces from overriding. */
export function TagKeysTab({ organization }: OrganizationView) {
  const [edited, setEdited] = useState<v2.ReservedTagKey | 'new'>()
  const refusal = organizationCan.manageTagKeys(organization)
  const list = usePages(['tag-keys', organization.id], ({ api, signal, page }) =>
    api.v2.listReservedTagKeys({
      params: { organization_name: organization.id },
      query: page,
      signal,
    }),
  )
  return (
    <>
      <div className="filters">
        <ActionButton kind="primary" refusal={refusal} onAct={() => setEdited('new')}>
          New tag key…
        </ActionButton>
      </div>
      <PagedTable
        list={list}
        what="the tag keys"
        label="Tag keys"
        columns={columnsOf({ refusal, onEdit: setEdited })}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No tag keys are reserved">
            <p>
              A reserved key, such as <code>env</code>, is offered wherever tags are edited. It can
              be kept from workspaces: they then have the value of their project.
            </p>
          </EmptyState>
        }
      />
      {edited !== undefined && (
        <TagKeyForm
          organization={organization.id}
          tagKey={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  )
}

interface ColumnContext {
  readonly refusal: Verdict
  readonly onEdit: (key: v2.ReservedTagKey) => void
}

function columnsOf({ refusal, onEdit }: ColumnContext): readonly Column<v2.ReservedTagKey>[] {
  return [
    { id: 'key', head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
    {
      id: 'overrides',
      head: 'Workspaces',
      width: '34%',
      isExtra: true,
      cell: ({ attributes }) =>
        attributes['disable-overrides']
          ? 'have the value of their project'
          : 'may have a value of their own',
    },
    {
      id: 'do',
      head: 'Do',
      width: '216px',
      cell: (key) => (
        <span className="row">
          <ActionButton refusal={refusal} onAct={() => onEdit(key)}>
            Edit…<span className="hidden"> {key.attributes.key}</span>
          </ActionButton>
          <RemoveKey tagKey={key} refusal={refusal} />
        </span>
      ),
    },
  ]
}

interface RemoveKeyProps {
  readonly tagKey: v2.ReservedTagKey
  readonly refusal: Verdict
}

function RemoveKey({ tagKey, refusal }: RemoveKeyProps) {
  const act = useAct()
  const confirm = useConfirm()
  const { key } = tagKey.attributes
  const remove = async () => {
    const title = `Reserve ${key} no more?`
    const body = 'Tags with this key stay where they are.'
    if (!(await confirm({ title, body, action: 'Remove it' }))) return
    await act({
      call: (api) => api.v2.deleteReservedTagKey({ params: { reserved_tag_key_id: tagKey.id } }),
      done: `${key} is no longer reserved.`,
    })
  }
  return (
    <ActionButton kind="danger" refusal={refusal} onAct={remove}>
      Remove…<span className="hidden"> {key}</span>
    </ActionButton>
  )
}

interface TagKeyFormProps {
  readonly organization: string
  /** Undefined makes a new one. */
  readonly tagKey: v2.ReservedTagKey | undefined
  readonly onClose: () => void
}

function TagKeyForm({ organization, tagKey, onClose }: TagKeyFormProps) {
  const act = useAct()
  const [key, setKey] = useState(tagKey?.attributes.key ?? '')
  const [isFixed, setFixed] = useState(tagKey?.attributes['disable-overrides'] ?? false)
  const save = async () => {
    const body = resource('reserved-tag-keys', { key, 'disable-overrides': isFixed })
    const done = await act({
      call: (api) =>
        tagKey === undefined
          ? api.v2.createReservedTagKey({ params: { organization_name: organization }, body })
          : api.v2.updateReservedTagKey({ params: { reserved_tag_key_id: tagKey.id }, body }),
      done: `${key} is reserved.`,
    })
    return done !== undefined
  }
  return (
    <FormDialog
      title={tagKey === undefined ? 'New tag key' : 'Edit the tag key'}
      action="Save"
      refusal={key === '' ? 'Fill in the key.' : undefined}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Key" attribute="key" value={key} onChange={setKey} />
      <CheckField
        label="Workspaces have the value of their project"
        attribute="disable-overrides"
        value={isFixed}
        onChange={setFixed}
        hint="Values of their own that are there already stay until they are removed."
      />
    </FormDialog>
  )
}

import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import { organizationDisabledReason } from '../../permissions/governance.ts'
import type { DisabledReason } from '../../permissions/disabled-reason.ts'
import { useApiAction } from '../../data/api-action.ts'
import { useNumberedList } from '../../data/lists.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { useConfirm } from '../../components/dialog.tsx'
import { type Column, PagedTable } from '../../components/data-table.tsx'
import { EmptyState } from '../../components/notices.tsx'
import { CheckField, FormDialog, TextField } from '../../components/form.tsx'
import type { OrganizationView } from './in-organization.tsx'

/** The tab with reserved tag keys, which are suggested and may forbid overrides. */
export function TagKeysTab({ organization }: OrganizationView) {
  const [edited, setEdited] = useState<v2.ReservedTagKey | 'new'>()
  const disabledReason = organizationDisabledReason.manageTagKeys(organization)
  const list = useNumberedList(['tag-keys', organization.id], ({ api, signal, pageQuery }) =>
    api.v2.listReservedTagKeys({
      params: { organization_name: organization.id },
      query: pageQuery,
      signal,
    }),
  )
  return (
    <>
      <div className="filters">
        <ActionButton
          kind="primary"
          disabledReason={disabledReason}
          onAction={() => setEdited('new')}
        >
          New tag key…
        </ActionButton>
      </div>
      <PagedTable
        list={list}
        what="the tag keys"
        label="Tag keys"
        columns={columnsOf({ disabledReason, onEdit: setEdited })}
        keyOf={({ id }) => id}
        empty={
          <EmptyState title="No tag keys are reserved">
            <p>
              A reserved key, such as <code>env</code>, is suggested wherever tags are edited. It
              can disable overrides, so that workspaces inherit the value of their project.
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
  readonly disabledReason: DisabledReason
  readonly onEdit: (key: v2.ReservedTagKey) => void
}

function columnsOf({
  disabledReason,
  onEdit,
}: ColumnContext): readonly Column<v2.ReservedTagKey>[] {
  return [
    { id: 'key', head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
    {
      id: 'overrides',
      head: 'Workspaces',
      width: '34%',
      isExtra: true,
      cell: ({ attributes }) =>
        attributes['disable-overrides'] ? 'inherited, cannot be overridden' : 'can be overridden',
    },
    {
      id: 'do',
      head: 'Actions',
      width: '216px',
      cell: (key) => (
        <span className="row">
          <ActionButton disabledReason={disabledReason} onAction={() => onEdit(key)}>
            Edit…<span className="hidden"> {key.attributes.key}</span>
          </ActionButton>
          <RemoveKey tagKey={key} disabledReason={disabledReason} />
        </span>
      ),
    },
  ]
}

interface RemoveKeyProps {
  readonly tagKey: v2.ReservedTagKey
  readonly disabledReason: DisabledReason
}

function RemoveKey({ tagKey, disabledReason }: RemoveKeyProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const { key } = tagKey.attributes
  const remove = async () => {
    const title = `Remove reserved key ${key}?`
    const body = 'Tags with this key stay where they are.'
    if (!(await confirm({ title, body, action: 'Remove it' }))) return
    await callApi({
      call: (api) => api.v2.deleteReservedTagKey({ params: { reserved_tag_key_id: tagKey.id } }),
      successMessage: `${key} is no longer reserved.`,
    })
  }
  return (
    <ActionButton kind="danger" disabledReason={disabledReason} onAction={remove}>
      Remove…<span className="hidden"> {key}</span>
    </ActionButton>
  )
}

interface TagKeyFormProps {
  readonly organization: string
  /** The edited key; undefined to create one. */
  readonly tagKey: v2.ReservedTagKey | undefined
  readonly onClose: () => void
}

function TagKeyForm({ organization, tagKey, onClose }: TagKeyFormProps) {
  const callApi = useApiAction()
  const [key, setKey] = useState(tagKey?.attributes.key ?? '')
  const [disableOverrides, setDisableOverrides] = useState(
    tagKey?.attributes['disable-overrides'] ?? false,
  )
  const save = async () => {
    const body = resource('reserved-tag-keys', { key, 'disable-overrides': disableOverrides })
    const result = await callApi({
      call: (api) =>
        tagKey === undefined
          ? api.v2.createReservedTagKey({ params: { organization_name: organization }, body })
          : api.v2.updateReservedTagKey({ params: { reserved_tag_key_id: tagKey.id }, body }),
      successMessage: `${key} is reserved.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={tagKey === undefined ? 'New tag key' : 'Edit the tag key'}
      action="Save"
      disabledReason={key === '' ? 'Fill in the key.' : undefined}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Key" attribute="key" value={key} onChange={setKey} />
      <CheckField
        label="Disable overrides in workspaces"
        attribute="disable-overrides"
        value={disableOverrides}
        onChange={setDisableOverrides}
        hint="Existing overrides stay until they are removed."
      />
    </FormDialog>
  )
}

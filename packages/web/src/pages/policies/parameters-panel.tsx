import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { useApiQuery } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { CheckField, FormDialog, TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'

interface ParametersPanelProps {
  readonly policySet: v2.PolicySet
  readonly disabledReason: DisabledReason
}

/** Parameters of a policy set, which its policies can read. */
export function ParametersPanel({ policySet, disabledReason }: ParametersPanelProps) {
  const [edited, setEdited] = useState<v2.PolicySetParameter | 'new'>()
  const parameters = useApiQuery(
    ['parameters', policySet.id],
    (api, signal) =>
      api.v2.listPolicySetParameters({
        params: { policy_set_id: policySet.id },
        query: { 'page[size]': 100 },
        signal,
      }),
    { watches: [{ topic: 'PolicySet' }] },
  )
  return (
    <Panel
      title="Parameters"
      isFlush
      actions={
        <ActionButton disabledReason={disabledReason} onAction={() => setEdited('new')}>
          New parameter…
        </ActionButton>
      }
    >
      <QueryView query={parameters} what="the parameters">
        {({ data }) => (
          <DataTable
            label="Parameters"
            columns={columnsOf({ policySetId: policySet.id, disabledReason, onEdit: setEdited })}
            rows={data}
            keyOf={({ id }) => id}
            empty={<p className="quiet padded">No parameters. Policies read them by name.</p>}
          />
        )}
      </QueryView>
      {edited !== undefined && (
        <ParameterForm
          policySetId={policySet.id}
          parameter={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Panel>
  )
}

interface ColumnContext {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly disabledReason: DisabledReason
  readonly onEdit: (parameter: v2.PolicySetParameter) => void
}

function columnsOf({
  policySetId,
  disabledReason,
  onEdit,
}: ColumnContext): readonly Column<v2.PolicySetParameter>[] {
  return [
    { id: 'key', head: 'Key', cell: ({ attributes }) => <code>{attributes.key}</code> },
    {
      id: 'value',
      head: 'Value',
      cell: ({ attributes }) =>
        attributes.sensitive ? (
          <span className="quiet">sensitive, never shown</span>
        ) : (
          <code>{attributes.value}</code>
        ),
    },
    {
      id: 'actions',
      head: 'Actions',
      width: '180px',
      cell: (parameter) => (
        <div className="row">
          <ActionButton disabledReason={disabledReason} onAction={() => onEdit(parameter)}>
            Edit…
          </ActionButton>
          <RemoveParameter
            policySetId={policySetId}
            parameter={parameter}
            disabledReason={disabledReason}
          />
        </div>
      ),
    },
  ]
}

interface RemoveParameterProps {
  readonly policySetId: string
  readonly parameter: v2.PolicySetParameter
  readonly disabledReason: DisabledReason
}

function RemoveParameter({ policySetId, parameter, disabledReason }: RemoveParameterProps) {
  const callApi = useApiAction()
  const remove = async () => {
    await callApi({
      call: (api) =>
        api.v2.deletePolicySetParameter({
          params: { policy_set_id: policySetId, parameter_id: parameter.id },
        }),
      successMessage: `${parameter.attributes.key} is removed.`,
    })
  }
  return (
    <ActionButton disabledReason={disabledReason} onAction={remove}>
      Remove
    </ActionButton>
  )
}

interface ParameterFormProps {
  /** ID of the policy set. */
  readonly policySetId: string
  readonly parameter: v2.PolicySetParameter | undefined
  readonly onClose: () => void
}

function ParameterForm({ policySetId, parameter, onClose }: ParameterFormProps) {
  const callApi = useApiAction()
  const [key, setKey] = useState(parameter?.attributes.key ?? '')
  const [value, setValue] = useState(parameter?.attributes.value ?? '')
  const [isSensitive, setSensitive] = useState(parameter?.attributes.sensitive ?? false)
  const save = async () => {
    const attributes = { key, value, sensitive: isSensitive, category: 'policy-set' } as const
    const body = resource('vars', attributes)
    const params = { policy_set_id: policySetId }
    const result = await callApi({
      call: (api) =>
        parameter === undefined
          ? api.v2.createPolicySetParameter({ params, body })
          : api.v2.updatePolicySetParameter({
              params: { ...params, parameter_id: parameter.id },
              body,
            }),
      successMessage: `${key} is saved.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={parameter === undefined ? 'New parameter' : 'Edit the parameter'}
      action="Save"
      disabledReason={key === '' ? 'Fill in the key.' : undefined}
      onSubmit={save}
      onClose={onClose}
    >
      <TextField label="Key" attribute="key" value={key} onChange={setKey} />
      <TextField label="Value" attribute="value" isOptional value={value} onChange={setValue} />
      <CheckField
        label="Sensitive"
        attribute="sensitive"
        value={isSensitive}
        onChange={setSensitive}
        hint="The value is never shown again. This cannot be undone."
      />
    </FormDialog>
  )
}

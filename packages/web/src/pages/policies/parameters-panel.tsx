import type { v2 } from '@reeve/contract'
import { resource } from '@reeve/sdk'
import { useState } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { useRead } from '../../data/use-read.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { DataTable, type Column } from '../../parts/data-table.tsx'
import { CheckField, FormDialog, TextField } from '../../parts/form.tsx'
import { Panel } from '../../parts/panel.tsx'
import { QueryView } from '../../parts/query-view.tsx'

interface ParametersPanelProps {
  readonly set: v2.PolicySet
  readonly refusal: Verdict
}

/** Values that the policies of the set can read. */
export function ParametersPanel({ set, refusal }: ParametersPanelProps) {
  const [edited, setEdited] = useState<v2.PolicySetParameter | 'new'>()
  const parameters = useRead(
    ['parameters', set.id],
    (api, signal) =>
      api.v2.listPolicySetParameters({
        params: { policy_set_id: set.id },
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
        <ActionButton refusal={refusal} onAct={() => setEdited('new')}>
          New parameter…
        </ActionButton>
      }
    >
      <QueryView query={parameters} what="the parameters">
        {({ data }) => (
          <DataTable
            label="Parameters"
            columns={columnsOf({ set: set.id, refusal, onEdit: setEdited })}
            rows={data}
            keyOf={({ id }) => id}
            empty={<p className="quiet padded">No parameters. Policies read them by name.</p>}
          />
        )}
      </QueryView>
      {edited !== undefined && (
        <ParameterForm
          set={set.id}
          parameter={edited === 'new' ? undefined : edited}
          onClose={() => setEdited(undefined)}
        />
      )}
    </Panel>
  )
}

interface ColumnContext {
  /** Its id. */
  readonly set: string
  readonly refusal: Verdict
  readonly onEdit: (parameter: v2.PolicySetParameter) => void
}

function columnsOf({
  set,
  refusal,
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
          <ActionButton refusal={refusal} onAct={() => onEdit(parameter)}>
            Edit…
          </ActionButton>
          <RemoveParameter set={set} parameter={parameter} refusal={refusal} />
        </div>
      ),
    },
  ]
}

interface RemoveParameterProps {
  readonly set: string
  readonly parameter: v2.PolicySetParameter
  readonly refusal: Verdict
}

function RemoveParameter({ set, parameter, refusal }: RemoveParameterProps) {
  const act = useAct()
  const remove = async () => {
    await act({
      call: (api) =>
        api.v2.deletePolicySetParameter({
          params: { policy_set_id: set, parameter_id: parameter.id },
        }),
      done: `${parameter.attributes.key} is removed.`,
    })
  }
  return (
    <ActionButton refusal={refusal} onAct={remove}>
      Remove
    </ActionButton>
  )
}

interface ParameterFormProps {
  /** Its id. */
  readonly set: string
  readonly parameter: v2.PolicySetParameter | undefined
  readonly onClose: () => void
}

function ParameterForm({ set, parameter, onClose }: ParameterFormProps) {
  const act = useAct()
  const [key, setKey] = useState(parameter?.attributes.key ?? '')
  const [value, setValue] = useState(parameter?.attributes.value ?? '')
  const [isSensitive, setSensitive] = useState(parameter?.attributes.sensitive ?? false)
  const save = async () => {
    const attributes = { key, value, sensitive: isSensitive, category: 'policy-set' } as const
    const body = resource('vars', attributes)
    const params = { policy_set_id: set }
    const done = await act({
      call: (api) =>
        parameter === undefined
          ? api.v2.createPolicySetParameter({ params, body })
          : api.v2.updatePolicySetParameter({
              params: { ...params, parameter_id: parameter.id },
              body,
            }),
      done: `${key} is saved.`,
    })
    return done !== undefined
  }
  return (
    <FormDialog
      title={parameter === undefined ? 'New parameter' : 'Edit the parameter'}
      action="Save"
      refusal={key === '' ? 'Fill in the key.' : undefined}
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

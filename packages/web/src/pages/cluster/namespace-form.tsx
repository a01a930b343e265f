import type { Namespace } from '@reeve/contract'
import { useState } from 'react'
import { accessDisabledReason } from '../../actions/access-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'
import {
  toNamespaceRequest,
  toNamespaceDraft,
  draftError,
  type NamespaceDraft,
} from './namespace-body.ts'

interface NamespaceFormProps {
  /** The edited namespace; undefined to create one. */
  readonly namespace: Namespace | undefined
  readonly onClose: () => void
}

/** The text fields after the name. */
const FIELDS = [
  { of: 'description', label: 'Description' },
  { of: 'drivers', label: 'Allowed drivers', hint: 'Comma-separated; empty allows all.' },
  { of: 'deniedDrivers', label: 'Drivers not allowed', hint: 'That jobs may not use.' },
  { of: 'pool', label: 'Node pool', hint: 'Of jobs that name none; default when empty.' },
  { of: 'pools', label: 'Node pools allowed', hint: 'That jobs may name; all when empty.' },
  { of: 'deniedPools', label: 'Node pools not allowed', hint: 'That jobs may not name.' },
] as const satisfies readonly {
  readonly of: keyof NamespaceDraft
  readonly label: string
  readonly hint?: string
}[]

/** The dialog to create or edit a namespace. */
export function NamespaceForm({ namespace, onClose }: NamespaceFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [draft, setDraft] = useState(() => toNamespaceDraft(namespace))
  const save = async () => {
    const body = toNamespaceRequest(namespace, draft)
    const result = await callApi({
      call: async (api) => {
        await api.v1.writeNamespace({ body })
        return true
      },
      successMessage: `The namespace ${body.Name} is stored.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={namespace === undefined ? 'New namespace' : namespace.Name}
      action="Store"
      disabledReason={accessDisabledReason.writeNamespace(permissions) ?? draftError(draft)}
      onSubmit={save}
      onClose={onClose}
    >
      {namespace === undefined && (
        <TextField
          label="Name"
          value={draft.name}
          onChange={(name) => setDraft({ ...draft, name })}
          hint="Letters, digits and dashes."
        />
      )}
      {FIELDS.map(({ of, label, ...field }) => (
        <TextField
          key={of}
          label={label}
          isOptional
          value={draft[of]}
          onChange={(text) => setDraft({ ...draft, [of]: text })}
          {...field}
        />
      ))}
    </FormDialog>
  )
}

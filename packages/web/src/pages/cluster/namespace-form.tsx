import type { Namespace } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { FormDialog, TextField } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'
import { bodyOf, draftOf, faultIn, type NamespaceDraft } from './namespace-body.ts'

interface NamespaceFormProps {
  /** Undefined makes a new one. */
  readonly namespace: Namespace | undefined
  readonly onClose: () => void
}

/** The fields after the name, each a text. */
const FIELDS = [
  { of: 'description', label: 'Description' },
  { of: 'drivers', label: 'Drivers', hint: 'That jobs may use, with commas; all when empty.' },
  { of: 'noDrivers', label: 'Drivers not allowed', hint: 'That jobs may not use.' },
  { of: 'pool', label: 'Node pool', hint: 'Of jobs that name none; default when empty.' },
  { of: 'pools', label: 'Node pools allowed', hint: 'That jobs may name; all when empty.' },
  { of: 'noPools', label: 'Node pools not allowed', hint: 'That jobs may not name.' },
] as const satisfies readonly {
  readonly of: keyof NamespaceDraft
  readonly label: string
  readonly hint?: string
}[]

/** What a namespace is for, and what its jobs may use. */
export function NamespaceForm({ namespace, onClose }: NamespaceFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [draft, setDraft] = useState(() => draftOf(namespace))
  const write = async () => {
    const body = bodyOf(namespace, draft)
    const done = await act({
      call: async (api) => {
        await api.v1.writeNamespace({ body })
        return true
      },
      done: `The namespace ${body.Name} is stored.`,
    })
    return done !== undefined
  }
  return (
    <FormDialog
      title={namespace === undefined ? 'New namespace' : namespace.Name}
      action="Store"
      refusal={accessCan.writeNamespace(rights) ?? faultIn(draft)}
      onSubmit={write}
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

import type { Namespace, NamespaceCapabilities } from '@reeve/contract'
import { useState } from 'react'
import { accessCan } from '../../actions/access-can.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Field } from '../../parts/field.tsx'
import { namesIn } from '../../parts/names-in.ts'
import { useSession } from '../../session/session.tsx'

interface NamespaceFormProps {
  /** Undefined makes a new one. */
  readonly namespace: Namespace | undefined
  readonly onClose: () => void
}

export function NamespaceForm({ namespace, onClose }: NamespaceFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [name, setName] = useState(namespace?.Name ?? '')
  const [description, setDescription] = useState(namespace?.Description ?? '')
  const kept = namespace?.Capabilities
  const [drivers, setDrivers] = useState(kept?.EnabledTaskDrivers?.join(', ') ?? '')
  const refusal =
    accessCan.writeNamespace(rights) ?? (name.trim() === '' ? 'Give it a name.' : undefined)
  const write = async () => {
    const Capabilities = capabilitiesOf(kept ?? null, namesIn(drivers))
    const body = { ...namespace, Name: name.trim(), Description: description, Capabilities }
    const done = await act({
      call: (api) => api.v1.writeNamespace({ body }),
      done: `The namespace ${body.Name} is stored.`,
    })
    if (done !== undefined) onClose()
  }
  return (
    <Dialog title={namespace === undefined ? 'New namespace' : namespace.Name} onClose={onClose}>
      <form className="stack" onSubmit={(event) => event.preventDefault()}>
        {namespace === undefined && (
          <Field label="Name" hint="Letters, digits and dashes.">
            {(attributes) => (
              <input
                {...attributes}
                value={name}
                onChange={(event) => setName(event.target.value)}
              />
            )}
          </Field>
        )}
        <Field label="Description" isOptional>
          {(attributes) => (
            <input
              {...attributes}
              value={description}
              onChange={(event) => setDescription(event.target.value)}
            />
          )}
        </Field>
        <Field label="Drivers" isOptional hint="That jobs may use, with commas; all when empty.">
          {(attributes) => (
            <input
              {...attributes}
              value={drivers}
              onChange={(event) => setDrivers(event.target.value)}
            />
          )}
        </Field>
        <div className="row dialog-actions">
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <ActionButton kind="primary" refusal={refusal} onAct={write} isSubmit>
            Store
          </ActionButton>
        </div>
      </form>
    </Dialog>
  )
}

/** What jobs may use, with other drivers; nothing is said about all the rest. */
function capabilitiesOf(
  kept: NamespaceCapabilities | null,
  drivers: readonly string[],
): NamespaceCapabilities | null {
  if (drivers.length === 0 && kept === null) return null
  return {
    DisabledTaskDrivers: null,
    EnabledNetworkModes: null,
    DisabledNetworkModes: null,
    ...kept,
    EnabledTaskDrivers: drivers.length === 0 ? null : [...drivers],
  }
}

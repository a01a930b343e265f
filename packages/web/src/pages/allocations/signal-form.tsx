import type { Allocation } from '@reeve/contract'
import { useState } from 'react'
import { allocationDisabledReason, runningTasks } from '../../actions/allocation-can.ts'
import { useApiAction } from '../../data/use-act.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'

/** Suggested signals; any other one can be typed. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'] as const

interface SignalFormProps {
  readonly allocation: Allocation
  readonly onClose: () => void
}

export function SignalForm({ allocation, onClose }: SignalFormProps) {
  const { permissions } = useSession()
  const callApi = useApiAction()
  const [signal, setSignal] = useState<string>('SIGHUP')
  const [task, setTask] = useState('')
  const send = async () => {
    const result = await callApi({
      call: (api) =>
        api.v1.signalAllocation({
          params: { alloc_id: allocation.ID },
          query: { namespace: allocation.Namespace },
          body: { Signal: signal, Task: task },
        }),
      successMessage: `${signal} was sent.`,
    })
    return result !== undefined
  }
  return (
    <FormDialog
      title={`Send a signal to ${allocation.Name}`}
      action="Send"
      disabledReason={
        allocationDisabledReason.signal(allocation, permissions) ??
        (signal.trim() === '' ? 'Enter a signal.' : undefined)
      }
      onSubmit={send}
      onClose={onClose}
    >
      <Field label="Signal">
        {(attributes) => (
          <>
            <input
              {...attributes}
              list="signals"
              value={signal}
              onChange={(event) => setSignal(event.target.value)}
            />
            <datalist id="signals">
              {SIGNALS.map((one) => (
                <option key={one} value={one} />
              ))}
            </datalist>
          </>
        )}
      </Field>
      <Field label="Task">
        {(attributes) => (
          <select {...attributes} value={task} onChange={(event) => setTask(event.target.value)}>
            <option value="">All running tasks</option>
            {runningTasks(allocation).map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
    </FormDialog>
  )
}

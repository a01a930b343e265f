import type { Allocation } from '@reeve/contract'
import { useState } from 'react'
import { allocationCan, runningTasks } from '../../actions/allocation-can.ts'
import { useAct } from '../../data/use-act.ts'
import { Field } from '../../parts/field.tsx'
import { FormDialog } from '../../parts/form.tsx'
import { useSession } from '../../session/session.tsx'

/** Those that programs listen to; any other one can be typed. */
const SIGNALS = ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGKILL', 'SIGUSR1', 'SIGUSR2', 'SIGQUIT'] as const

interface SignalFormProps {
  readonly allocation: Allocation
  readonly onClose: () => void
}

export function SignalForm({ allocation, onClose }: SignalFormProps) {
  const { rights } = useSession()
  const act = useAct()
  const [signal, setSignal] = useState<string>('SIGHUP')
  const [task, setTask] = useState('')
  const send = async () => {
    const sent = await act({
      call: (api) =>
        api.v1.signalAllocation({
          params: { alloc_id: allocation.ID },
          query: { namespace: allocation.Namespace },
          body: { Signal: signal, Task: task },
        }),
      done: `${signal} was sent.`,
    })
    return sent !== undefined
  }
  return (
    <FormDialog
      title={`Send a signal to ${allocation.Name}`}
      action="Send"
      refusal={
        allocationCan.signal(allocation, rights) ??
        (signal.trim() === '' ? 'Name a signal.' : undefined)
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

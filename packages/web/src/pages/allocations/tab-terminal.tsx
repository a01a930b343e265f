import type { Allocation } from '@reeve/contract'
import { Suspense, useState } from 'react'
import { allocationDisabledReason, runningTasks } from '../../permissions/allocation.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { EmptyState, Loading } from '../../components/notices.tsx'
import { Field } from '../../components/form.tsx'
import { lazyComponent } from '../../components/lazy.tsx'
import { useSession } from '../../session/session.tsx'
import { selectedTask, type AllocationView, TaskSelect } from './allocation-view.tsx'
import { splitCommand } from '../../commands.ts'

const Terminal = lazyComponent(async () => (await import('./terminal.tsx')).Terminal)

/** A shell, or any other command, inside a task. */
export function TerminalTab({ allocation, search }: AllocationView) {
  const { permissions } = useSession()
  const disabledReason = allocationDisabledReason.exec(allocation, permissions)
  if (disabledReason !== undefined)
    return (
      <EmptyState title="No terminal" command={`reeve alloc exec -it ${allocation.ID} /bin/sh`}>
        <p>{disabledReason} A terminal runs a command inside a running task.</p>
      </EmptyState>
    )
  return <TerminalPanel allocation={allocation} task={selectedTask(allocation, search)} />
}

interface Session {
  readonly id: number
  readonly command: string[]
  readonly hasEnded: boolean
}

interface TerminalPanelProps {
  readonly allocation: Allocation
  readonly task: string
}

function TerminalPanel({ allocation, task }: TerminalPanelProps) {
  const [text, setText] = useState('/bin/sh')
  const [session, setSession] = useState<Session>()
  const command = splitCommand(text)
  const disabledReason =
    (runningTasks(allocation).includes(task) ? undefined : 'The task is not running.') ??
    (command.length === 0 ? 'Enter a command.' : undefined)
  const connect = () => setSession({ id: (session?.id ?? 0) + 1, command, hasEnded: false })
  return (
    <>
      <form className="row terminal-bar" onSubmit={(event) => event.preventDefault()}>
        <Field label="Task">
          {({ id }) => <TaskSelect id={id} allocation={allocation} current={task} />}
        </Field>
        <Field label="Command">
          {(attributes) => (
            <input
              {...attributes}
              className="mono"
              value={text}
              spellCheck={false}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        {session === undefined || session.hasEnded ? (
          <ActionButton kind="primary" disabledReason={disabledReason} onAction={connect} isSubmit>
            {session === undefined ? 'Connect' : 'Connect again'}
          </ActionButton>
        ) : (
          <ActionButton onAction={() => setSession(undefined)}>Disconnect</ActionButton>
        )}
      </form>
      {session === undefined ? (
        <p className="quiet">
          The command runs inside the task, with its files, its environment and its user. It ends
          when this page is left.
        </p>
      ) : (
        <Suspense fallback={<Loading what="the terminal" />}>
          <Terminal
            key={`${session.id} ${task}`}
            allocation={allocation}
            task={task}
            command={session.command}
            onEnd={() => setSession({ ...session, hasEnded: true })}
          />
        </Suspense>
      )}
    </>
  )
}

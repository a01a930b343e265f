import type { ReactNode } from 'react'
import type { Verdict } from '../../actions/verdict.ts'
import { useAct } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { navigate } from '../../routing/location.ts'
import type { Api } from '../../session/api.ts'

interface DeletionProps {
  /** `the project Web shop`. */
  readonly what: string
  readonly body: ReactNode
  readonly refusal: Verdict
  readonly call: (api: Api) => Promise<unknown>
  /** Where to go when it is gone. */
  readonly after: string
}

/** Deletes what a page shows, after a question, and leaves the page. */
export function DeleteButton({ what, body, refusal, call, after }: DeletionProps) {
  const act = useAct()
  const confirm = useConfirm()
  const remove = async () => {
    const question = { title: `Delete ${what}?`, body, action: 'Delete', isDangerous: true }
    if (!(await confirm(question))) return
    const done = await act({ call, done: `Deleted ${what}.` })
    if (done !== undefined) navigate(after)
  }
  return (
    <ActionButton kind="danger" refusal={refusal} onAct={remove}>
      Delete…
    </ActionButton>
  )
}

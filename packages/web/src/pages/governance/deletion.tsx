import type { ReactNode } from 'react'
import type { DisabledReason } from '../../actions/verdict.ts'
import { useApiAction } from '../../data/use-act.ts'
import { ActionButton } from '../../parts/action-button.tsx'
import { useConfirm } from '../../parts/confirm.tsx'
import { navigate } from '../../routing/location.ts'
import type { Api } from '../../session/api.ts'

interface DeleteButtonProps {
  /** `the project Web shop`. */
  readonly what: string
  readonly body: ReactNode
  readonly disabledReason: DisabledReason
  readonly call: (api: Api) => Promise<unknown>
  /** The page to open after the deletion. */
  readonly returnTo: string
}

/** Deletes the record of a page after confirmation, and leaves the page. */
export function DeleteButton({ what, body, disabledReason, call, returnTo }: DeleteButtonProps) {
  const callApi = useApiAction()
  const confirm = useConfirm()
  const remove = async () => {
    const confirmation = { title: `Delete ${what}?`, body, action: 'Delete', isDangerous: true }
    if (!(await confirm(confirmation))) return
    const result = await callApi({ call, successMessage: `Deleted ${what}.` })
    if (result !== undefined) navigate(returnTo)
  }
  return (
    <ActionButton kind="danger" disabledReason={disabledReason} onAction={remove}>
      Delete…
    </ActionButton>
  )
}

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { DisabledReason } from '../permissions/disabled-reason.ts'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { ActionButton } from './action-button.tsx'

export interface Choice {
  readonly id: string
  readonly text: string
}

interface PickerProps {
  /** Label, such as `Project`. */
  readonly label: string
  /** Key of the search; equal keys share one request. */
  readonly queryKey: readonly unknown[]
  readonly find: (api: Api, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  readonly action: string
  readonly disabledReason?: DisabledReason
  readonly onPick: (choice: Choice) => Promise<void>
}

/** Selects a record by name, with server-side search. */
export function Picker({ label, queryKey, find, action, disabledReason, onPick }: PickerProps) {
  const id = useId()
  const [text, setText] = useState('')
  const { api } = useSession()
  const found = useQuery({
    queryKey: [...queryKey, 'picker', text],
    queryFn: ({ signal }) => find(api, text, signal),
    enabled: disabledReason === undefined,
    placeholderData: keepPreviousData,
  })
  const chosen = found.data?.find((one) => one.text === text)
  const missing = chosen === undefined ? `Choose a ${label.toLowerCase()} by its name.` : undefined
  const pick = async () => {
    if (chosen === undefined) return
    await onPick(chosen)
    setText('')
  }
  return (
    <form className="row picker" onSubmit={(event) => event.preventDefault()}>
      <label htmlFor={id} className="hidden">
        {label}
      </label>
      <input
        id={id}
        list={`${id}-choices`}
        placeholder={label}
        disabled={disabledReason !== undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id={`${id}-choices`}>
        {found.data?.map((one) => (
          <option key={one.id} value={one.text} />
        ))}
      </datalist>
      <ActionButton disabledReason={disabledReason ?? missing} onAction={pick} isSubmit>
        {action}
      </ActionButton>
    </form>
  )
}

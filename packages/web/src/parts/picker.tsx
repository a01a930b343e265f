import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useId, useState } from 'react'
import type { Verdict } from '../actions/verdict.ts'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { ActionButton } from './action-button.tsx'

export interface Choice {
  readonly id: string
  readonly text: string
}

interface PickerProps {
  /** What is chosen: `Project`. */
  readonly label: string
  /** Names the search: equal keys are one request. */
  readonly queryKey: readonly unknown[]
  readonly find: (api: Api, text: string, signal: AbortSignal) => Promise<readonly Choice[]>
  readonly action: string
  readonly refusal?: Verdict
  readonly onPick: (choice: Choice) => Promise<void>
}

/** Chooses one of many by its name; the server searches. */
export function Picker({ label, queryKey, find, action, refusal, onPick }: PickerProps) {
  const id = useId()
  const [text, setText] = useState('')
  const { api } = useSession()
  const found = useQuery({
    queryKey: [...queryKey, 'picker', text],
    queryFn: ({ signal }) => find(api, text, signal),
    enabled: refusal === undefined,
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
        disabled={refusal !== undefined}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <datalist id={`${id}-choices`}>
        {found.data?.map((one) => (
          <option key={one.id} value={one.text} />
        ))}
      </datalist>
      <ActionButton refusal={refusal ?? missing} onAct={pick} isSubmit>
        {action}
      </ActionButton>
    </form>
  )
}

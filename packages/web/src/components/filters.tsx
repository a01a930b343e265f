import { useEffect, useEffectEvent, useState } from 'react'
import { hrefWith, navigate } from '../routing/location.ts'

interface SearchFieldProps {
  readonly label: string
  /** Value in the URL. */
  readonly value: string
  readonly name?: string
}

/** Pause in typing after which the search starts. */
const TYPING_PAUSE_MS = 250

/** A search field whose text is part of the URL. */
export function SearchField({ label, value, name = 'q' }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const [lastValue, setLastValue] = useState(value)
  // Back navigation and links to the same page change the URL, so the field follows it.
  if (value !== lastValue) {
    setLastValue(value)
    setText(value)
  }
  const apply = useEffectEvent(() => {
    if (text !== value) navigate(hrefWith({ [name]: text }), { replace: true })
  })
  useEffect(() => {
    const timer = setTimeout(() => apply(), TYPING_PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <input
      type="search"
      aria-label={label}
      placeholder={label}
      value={text}
      onChange={(event) => setText(event.target.value)}
    />
  )
}

interface StatusSelectProps {
  readonly statuses: readonly string[]
  readonly current: string | undefined
  /** Name of the URL parameter. */
  readonly name?: string
  readonly label?: string
}

/** Filters a list by status; the selection is part of the URL. */
export function StatusSelect(props: StatusSelectProps) {
  const { statuses, current, name = 'status', label = 'Status' } = props
  return (
    <select
      aria-label={label}
      value={current ?? ''}
      onChange={(event) => navigate(hrefWith({ [name]: event.target.value }), { replace: true })}
    >
      <option value="">Any {label.toLowerCase()}</option>
      {statuses.map((status) => (
        <option key={status}>{status}</option>
      ))}
    </select>
  )
}

/** Reads the order from the URL; newest first is the default. */
export function isNewestFirst(search: URLSearchParams): boolean {
  return search.get('order') !== 'oldest'
}

/** Selects the order of a list; the selection is part of the URL. */
export function OrderSelect({ search }: { readonly search: URLSearchParams }) {
  return (
    <select
      aria-label="Order"
      value={isNewestFirst(search) ? '' : 'oldest'}
      onChange={({ target }) => navigate(hrefWith({ order: target.value }), { replace: true })}
    >
      <option value="">Newest first</option>
      <option value="oldest">Oldest first</option>
    </select>
  )
}

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

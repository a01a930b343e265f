import { useEffect, useEffectEvent, useState } from 'react'
import { hrefWith, navigate } from '../routing/location.ts'

interface SearchFieldProps {
  readonly label: string
  /** What the address says. */
  readonly value: string
  readonly name?: string
}

/** A pause in the typing: the server is asked then, and not for each letter. */
const PAUSE_MS = 250

/** A text that narrows a list; it is in the address. */
export function SearchField({ label, value, name = 'q' }: SearchFieldProps) {
  const [text, setText] = useState(value)
  const [seen, setSeen] = useState(value)
  // Somebody went back, or followed a link to the same page: the field follows the address.
  if (value !== seen) {
    setSeen(value)
    setText(value)
  }
  const apply = useEffectEvent(() => {
    if (text !== value) navigate(hrefWith({ [name]: text }), { replace: true })
  })
  useEffect(() => {
    const timer = setTimeout(() => apply(), PAUSE_MS)
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

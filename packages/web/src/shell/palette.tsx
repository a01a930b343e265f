import { useDeferredValue, useId, useState, type KeyboardEvent } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Dialog } from '../parts/dialog.tsx'
import { navigate, useLocation } from '../routing/location.ts'
import { useSession } from '../session/session.tsx'
import { findGoverned, organizationOf } from './find-governed.ts'
import { findThings, type Hit } from './find-things.ts'
import { NAVIGATION } from './navigation.ts'
import { closeShellWindow } from './palette-store.ts'
import { useNamespace } from './use-namespace.ts'

/** Goes to a page, or to anything that the server finds. */
export function Palette() {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState(0)
  const id = useId()
  const hits = useHits(text.trim())
  const place = Math.min(chosen, hits.length - 1)
  const go = (hit: Hit | undefined) => {
    if (hit === undefined) return
    closeShellWindow()
    navigate(hit.href)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) setChosen((place + step + hits.length) % Math.max(1, hits.length))
    else if (event.key === 'Enter') go(hits[place])
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search or go to" onClose={closeShellWindow} className="palette">
      <input
        type="text"
        role="combobox"
        aria-label="A page, a name or the prefix of an ID"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={hits.length === 0 ? undefined : `${id}-${place}`}
        aria-autocomplete="list"
        placeholder="A page, a name or the prefix of an ID"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={text}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.target.value)
          setChosen(0)
        }}
      />
      <ul role="listbox" id={id} aria-label="Found">
        {hits.map((hit, index) => (
          <li
            key={hit.href}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === place}
            onPointerMove={() => setChosen(index)}
            onClick={() => go(hit)}
          >
            <span className="hit-kind">{hit.kind}</span>
            <span className="hit-text">{hit.text}</span>
            <span className="hit-detail">{hit.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 && <p className="quiet">No matches.</p>}
    </Dialog>
  )
}

function useHits(text: string): readonly Hit[] {
  const { api, mayGovern } = useSession()
  const { pathname } = useLocation()
  const namespace = useNamespace()
  const asked = useDeferredValue(text).toLowerCase()
  const isAsked = asked.length > 1
  const things = useQuery({
    queryKey: ['find', asked],
    queryFn: ({ signal }) => findThings(api, asked, signal),
    enabled: isAsked,
    placeholderData: (before) => before,
  })
  const here = organizationOf(pathname)
  const governed = useQuery({
    queryKey: ['find-governed', asked, here ?? ''],
    queryFn: ({ signal }) => findGoverned(api, { text: asked, here, signal }),
    enabled: isAsked && mayGovern === true,
    placeholderData: (before) => before,
  })
  const pages = pagesNamed(text, namespace)
  return isAsked ? [...pages, ...(things.data ?? []), ...(governed.data ?? [])] : pages
}

function pagesNamed(text: string, namespace: string): readonly Hit[] {
  const wanted = text.toLowerCase()
  return NAVIGATION.flatMap(({ title, items }) =>
    items
      .filter((item) => item.text.toLowerCase().includes(wanted))
      .map((item) => ({
        kind: 'Page',
        text: item.text,
        detail: title,
        href: item.href(namespace),
      })),
  )
}

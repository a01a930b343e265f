import { useDeferredValue, useId, useState, type KeyboardEvent, useSyncExternalStore } from 'react'
import { useQuery } from '@tanstack/react-query'
import { Dialog } from '../components/dialog.tsx'
import { navigate, useLocation } from '../routing/location.ts'
import { useSession } from '../session/session.tsx'
import { searchGovernance, organizationInPath, searchWorkload, type SearchHit } from './search.ts'
import { NAVIGATION, useNamespace } from './navigation.ts'

/** The search dialog: pages, and records that the server finds. */
export function Palette() {
  const [text, setText] = useState('')
  const [highlighted, setHighlighted] = useState(0)
  const id = useId()
  const hits = useSearchHits(text.trim())
  const selectedIndex = Math.min(highlighted, hits.length - 1)
  const go = (hit: SearchHit | undefined) => {
    if (hit === undefined) return
    closeShellWindow()
    navigate(hit.href)
  }
  const onKey = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) setHighlighted((selectedIndex + step + hits.length) % Math.max(1, hits.length))
    else if (event.key === 'Enter') go(hits[selectedIndex])
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
        aria-activedescendant={hits.length === 0 ? undefined : `${id}-${selectedIndex}`}
        aria-autocomplete="list"
        placeholder="A page, a name or the prefix of an ID"
        autoFocus
        autoComplete="off"
        spellCheck={false}
        value={text}
        onKeyDown={onKey}
        onChange={(event) => {
          setText(event.target.value)
          setHighlighted(0)
        }}
      />
      <ul role="listbox" id={id} aria-label="Found">
        {hits.map((hit, index) => (
          <li
            key={hit.href}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === selectedIndex}
            onPointerMove={() => setHighlighted(index)}
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

function useSearchHits(text: string): readonly SearchHit[] {
  const { api, hasGovernanceToken } = useSession()
  const { pathname } = useLocation()
  const namespace = useNamespace()
  const deferredText = useDeferredValue(text).toLowerCase()
  const isSearched = deferredText.length > 1
  const workloadHits = useQuery({
    queryKey: ['find', deferredText],
    queryFn: ({ signal }) => searchWorkload(api, deferredText, signal),
    enabled: isSearched,
    placeholderData: (before) => before,
  })
  const currentOrganization = organizationInPath(pathname)
  const governanceHits = useQuery({
    queryKey: ['find-governed', deferredText, currentOrganization ?? ''],
    queryFn: ({ signal }) =>
      searchGovernance(api, { text: deferredText, currentOrganization, signal }),
    enabled: isSearched && hasGovernanceToken === true,
    placeholderData: (before) => before,
  })
  const pages = pagesNamed(text, namespace)
  return isSearched
    ? [...pages, ...(workloadHits.data ?? []), ...(governanceHits.data ?? [])]
    : pages
}

function pagesNamed(text: string, namespace: string): readonly SearchHit[] {
  const lowerCaseText = text.toLowerCase()
  return NAVIGATION.flatMap(({ title, items }) =>
    items
      .filter((item) => item.text.toLowerCase().includes(lowerCaseText))
      .map((item) => ({
        kind: 'Page',
        text: item.text,
        detail: title,
        href: item.href(namespace),
      })),
  )
}

/** The open dialog of the shell. It is not part of the URL. */
type ShellWindow = 'palette' | 'keys' | undefined

const listeners = new Set<() => void>()
let openWindow: ShellWindow

function setOpenWindow(next: ShellWindow): void {
  openWindow = next
  for (const listener of listeners) listener()
}

export const openPalette = () => setOpenWindow('palette')
export const openShortcuts = () => setOpenWindow('keys')
export const closeShellWindow = () => setOpenWindow(undefined)

export function useShellWindow(): ShellWindow {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => openWindow,
  )
}

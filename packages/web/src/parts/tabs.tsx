import { useEffect, useRef, type RefObject } from 'react'
import type { DisabledReason } from '../actions/verdict.ts'
import { Link } from '../routing/link.tsx'
import { hiddenSides } from './hidden-sides.ts'
import { Icon } from './icon.tsx'

interface Tab {
  readonly id: string
  readonly text: string
  readonly href: string
  readonly count?: number | undefined
  /** Why the tab is disabled, shown before it is opened. */
  readonly disabledReason?: DisabledReason
}

interface TabsProps {
  /** Accessible name of the tab bar. */
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
}

/** Tabs as links: each has a URL. */
export function Tabs({ label, tabs, current }: TabsProps) {
  const bar = useRef<HTMLUListElement>(null)
  useOverflowMarkers(bar)
  useEffect(() => {
    // On narrow screens the current tab may be scrolled out of view.
    const currentTab = bar.current?.querySelector('[aria-current]')
    currentTab?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  return (
    <nav aria-label={label} className="tabs">
      <ul ref={bar}>
        {tabs.map(({ id, text, href, count, disabledReason }) => (
          <li key={id}>
            <Link
              href={href}
              aria-current={id === current ? 'page' : undefined}
              className={disabledReason === undefined ? undefined : 'refused'}
              title={disabledReason}
            >
              {text}
              {disabledReason !== undefined && <Icon name="paused" />}
              {count !== undefined && <span className="count">{count}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Marks the edges that hide tabs, for the style sheet. */
function useOverflowMarkers(bar: RefObject<HTMLUListElement | null>): void {
  useEffect(() => {
    const { current: list } = bar
    if (list === null) return undefined
    const updateMarkers = () => {
      list.dataset['hidden'] = hiddenSides(list)
    }
    const observer = new ResizeObserver(updateMarkers)
    observer.observe(list)
    // The width of a tab changes with its count.
    for (const tab of list.children) observer.observe(tab)
    list.addEventListener('scroll', updateMarkers, { passive: true })
    return () => {
      observer.disconnect()
      list.removeEventListener('scroll', updateMarkers)
    }
  }, [bar])
}

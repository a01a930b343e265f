import { useEffect, useRef, type RefObject } from 'react'
import type { Verdict } from '../actions/verdict.ts'
import { Link } from '../routing/link.tsx'
import { hiddenSides } from './hidden-sides.ts'
import { Icon } from './icon.tsx'

interface Tab {
  readonly id: string
  readonly text: string
  readonly href: string
  readonly count?: number | undefined
  /** Why there is nothing to see behind it: said before it is opened. */
  readonly refusal?: Verdict
}

interface TabsProps {
  /** What the tabs are parts of, for those who hear the page. */
  readonly label: string
  readonly tabs: readonly Tab[]
  readonly current: string
}

/** Views of one thing. They are links: each has an address of its own. */
export function Tabs({ label, tabs, current }: TabsProps) {
  const bar = useRef<HTMLUListElement>(null)
  useHiddenTabs(bar)
  useEffect(() => {
    // Where the window is narrow, the current one may lie outside of it.
    const here = bar.current?.querySelector('[aria-current]')
    here?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  return (
    <nav aria-label={label} className="tabs">
      <ul ref={bar}>
        {tabs.map(({ id, text, href, count, refusal }) => (
          <li key={id}>
            <Link
              href={href}
              aria-current={id === current ? 'page' : undefined}
              className={refusal === undefined ? undefined : 'refused'}
              title={refusal}
            >
              {text}
              {refusal !== undefined && <Icon name="paused" />}
              {count !== undefined && <span className="count">{count}</span>}
            </Link>
          </li>
        ))}
      </ul>
    </nav>
  )
}

/** Says to the style at which edges tabs go on outside of what is seen. */
function useHiddenTabs(bar: RefObject<HTMLUListElement | null>): void {
  useEffect(() => {
    const { current: list } = bar
    if (list === null) return undefined
    const look = () => {
      list.dataset['hidden'] = hiddenSides(list)
    }
    const observer = new ResizeObserver(look)
    observer.observe(list)
    // A tab grows with its count.
    for (const tab of list.children) observer.observe(tab)
    list.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      list.removeEventListener('scroll', look)
    }
  }, [bar])
}

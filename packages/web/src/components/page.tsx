import { useEffect, type ReactNode, useId, useRef, type RefObject } from 'react'
import { hiddenSides } from './layout.ts'
import type { DisabledReason } from '../permissions/disabled-reason.ts'
import { Link } from '../routing/link.tsx'
import { Icon } from './icon.tsx'

export interface Crumb {
  readonly text: string
  readonly href: string
}

interface PageHeaderProps {
  readonly title: string
  /** The pages above this one, outermost first. */
  readonly crumbs?: readonly Crumb[]
  /** Shown beside the title, such as a status. */
  readonly aside?: ReactNode
  readonly actions?: ReactNode
  /** One sentence under the title. */
  readonly lead?: ReactNode
}

/** The header of every page: breadcrumbs, title and actions. */
export function PageHeader({ title, crumbs = [], aside, actions, lead }: PageHeaderProps) {
  useEffect(() => {
    document.title = `${title} · Reeve`
  }, [title])
  return (
    <header className="page-head">
      {crumbs.length > 0 && (
        <nav aria-label="Breadcrumb" className="crumbs">
          <ol>
            {crumbs.map(({ text, href }) => (
              <li key={href}>
                <Link href={href}>{text}</Link>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div className="page-title">
        <h1>{title}</h1>
        {aside}
        {actions !== undefined && <div className="row page-actions">{actions}</div>}
      </div>
      {lead !== undefined && <p className="lead">{lead}</p>}
    </header>
  )
}

interface PanelProps {
  readonly title: string
  /** Buttons at the right of the title. */
  readonly actions?: ReactNode
  readonly children: ReactNode
  /** Removes the padding, for tables. */
  readonly isFlush?: boolean
}

/** A section of a page with a heading. */
export function Panel({ title, actions, children, isFlush = false }: PanelProps) {
  const id = useId()
  return (
    <section className="panel" aria-labelledby={id}>
      <header className="panel-head">
        <h2 id={id}>{title}</h2>
        {actions !== undefined && <div className="row">{actions}</div>}
      </header>
      <div className={isFlush ? 'panel-body flush' : 'panel-body'}>{children}</div>
    </section>
  )
}

interface Description {
  readonly name: string
  readonly value: ReactNode
}

/** A list of names and values, such as the fields of a record. */
export function DescriptionList({ facts }: { readonly facts: readonly Description[] }) {
  return (
    <dl className="facts">
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}

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

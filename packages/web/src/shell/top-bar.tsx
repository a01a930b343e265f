import { useState } from 'react'
import { useLiveStatus } from '../data/live.tsx'
import type { LiveStatus } from '../data/live-feed.ts'
import { Icon } from '../components/icon.tsx'
import { useApiQuery } from '../data/api-query.ts'
import { ALL_NAMESPACES, paths } from '../paths.ts'
import { Link } from '../routing/link.tsx'
import { currentAddress, hrefWith, navigate, useLocation } from '../routing/location.ts'
import { useSession } from '../session/session.tsx'
import { NAVIGATION, useNamespace } from './navigation.ts'
import { openPalette } from './palette.tsx'
import { applyTheme, readTheme, THEMES } from './browser-settings.ts'

interface TopBarProps {
  readonly isMenuOpen: boolean
  readonly onMenu: () => void
}

export function TopBar({ isMenuOpen, onMenu }: TopBarProps) {
  return (
    <header className="top">
      <button
        type="button"
        className="icon-button menu-button"
        aria-expanded={isMenuOpen}
        aria-controls="side"
        onClick={onMenu}
      >
        <Icon name={isMenuOpen ? 'close' : 'menu'} label="Pages" />
      </button>
      <Link className="brand" href={paths.home()}>
        <img src="/ui/mark.svg" alt="" width="22" height="22" />
        Reeve
      </Link>
      <NamespaceSwitch />
      <button type="button" className="palette-button" onClick={openPalette}>
        <Icon name="search" />
        <span>Search or go to…</span>
        <kbd>Ctrl K</kbd>
      </button>
      <LiveIndicator />
      <ThemeSwitch />
      <AccountLink />
    </header>
  )
}

const LIVE_TEXTS: Readonly<Record<LiveStatus, string>> = {
  connecting: 'Connecting',
  live: 'Live',
  polling: 'Polling',
  lost: 'Offline',
}
const LIVE_TITLES: Readonly<Record<LiveStatus, string>> = {
  connecting: 'Waiting for the event stream of the server.',
  live: 'Pages update as the cluster changes.',
  polling: 'Your token may not read the event stream: pages are polled every 5 seconds.',
  lost: 'The server cannot be reached; data may be stale.',
}

function LiveIndicator() {
  const status = useLiveStatus()
  return (
    <span className={`live live-${status}`} role="status" title={LIVE_TITLES[status]}>
      <Icon name={status === 'lost' ? 'warning' : 'live'} />
      <span>{LIVE_TEXTS[status]}</span>
    </span>
  )
}

function ThemeSwitch() {
  const [theme, setTheme] = useState(readTheme)
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] ?? 'system'
  const change = () => {
    applyTheme(next)
    setTheme(next)
  }
  return (
    <button type="button" className="icon-button" title={`Theme: ${theme}`} onClick={change}>
      <Icon name="theme" label={`Theme: ${theme}. Change it to ${next}.`} />
    </button>
  )
}

function AccountLink() {
  const { identity, tokens } = useSession()
  const { pathname } = useLocation()
  const hasToken = tokens.workload !== undefined || tokens.governance !== undefined
  // A link to the sign-in page from itself would lose the page to return to.
  if (!hasToken && pathname === paths.signIn()) return null
  if (!hasToken)
    return (
      <Link className="button account" href={paths.signIn({ next: currentAddress() })}>
        Sign in
      </Link>
    )
  const name = identity?.token?.Name ?? ''
  return (
    <Link className="button account" href={paths.session()}>
      {name === '' ? 'Session' : name}
    </Link>
  )
}

/** Selects the namespace of the lists. */
function NamespaceSwitch() {
  const current = useNamespace()
  const { pathname } = useLocation()
  const { data } = useApiQuery(['namespaces'], (api, signal) => api.v1.listNamespaces({ signal }), {
    pollIntervalMs: 60_000,
  })
  const names = (data ?? []).map(({ Name }) => Name)
  const options =
    current === ALL_NAMESPACES || names.includes(current) ? names : [current, ...names]
  // Lists are filtered by the namespace; a detail page is replaced by the list of jobs.
  const change = (name: string) =>
    navigate(
      isList(pathname)
        ? hrefWith({ namespace: name === ALL_NAMESPACES ? undefined : name })
        : paths.jobs({ namespace: name }),
    )
  return (
    <label className="namespace">
      <span className="hidden">Namespace</span>
      <select value={current} onChange={(event) => change(event.target.value)}>
        <option value={ALL_NAMESPACES}>All namespaces</option>
        {options.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function isList(pathname: string): boolean {
  const items = NAVIGATION.flatMap((group) => group.items)
  return items.some(({ href }) => href(ALL_NAMESPACES) === pathname)
}

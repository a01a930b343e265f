import { useEffect, useState, type ReactNode } from 'react'
import { ApiError, clockSkewMs, healthInError } from '@reeve/sdk'
import { Icon } from '../components/icon.tsx'
import { useApiQuery } from '../data/api-query.ts'
import { BASE, paths } from '../paths.ts'
import { Link } from '../routing/link.tsx'
import { currentAddress, navigate, useLocation } from '../routing/location.ts'
import type { Api } from '../session/api.ts'
import { useSession } from '../session/session.tsx'
import { Keyboard } from './keyboard.tsx'
import { NAVIGATION, useNamespace } from './navigation.ts'
import { serverNotice, type ServerReport } from './server-notice.ts'
import { TopBar } from './top-bar.tsx'

/** The frame of all pages: top bar, navigation and shortcuts. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const { pathname } = useLocation()
  useSignInRedirect(pathname)
  useEffect(() => setMenuOpen(false), [pathname])
  return (
    <div className="shell" data-menu={isMenuOpen ? 'open' : 'closed'}>
      <a className="skip" href="#main">
        Skip to the page
      </a>
      <TopBar isMenuOpen={isMenuOpen} onMenu={() => setMenuOpen(!isMenuOpen)} />
      <ServerBanner />
      <SideNavigation />
      {isMenuOpen && <div className="scrim" onClick={() => setMenuOpen(false)} />}
      <main id="main" tabIndex={-1}>
        {children}
      </main>
      <Keyboard />
    </div>
  )
}

/** Pages that need no permission. */
const PUBLIC_PATHS: readonly string[] = [paths.signIn(), paths.session()]

/**
 * Redirects signed-out users without permissions to the sign-in page, which returns them
 * afterwards.
 */
function useSignInRedirect(pathname: string): void {
  const { identity, tokens } = useSession()
  const isSignedOut =
    identity?.isAclEnabled === true &&
    identity.token === undefined &&
    tokens.governance === undefined &&
    !identity.permissions.isUnlimited &&
    identity.permissions.rules.length === 0
  useEffect(() => {
    if (!isSignedOut || PUBLIC_PATHS.includes(pathname)) return
    navigate(paths.signIn({ next: currentAddress() }), { replace: true })
  }, [isSignedOut, pathname])
}

function SideNavigation() {
  const { pathname } = useLocation()
  const namespace = useNamespace()
  const isCurrent = (under: string) => `${pathname}/`.startsWith(`${BASE}${under}/`)
  return (
    <nav className="side" id="side" aria-label="Pages">
      {NAVIGATION.map(({ title, items }) => (
        <section key={title} aria-label={title}>
          <h2>{title}</h2>
          <ul>
            {items.map(({ text, href, pathPrefix }) => (
              <li key={text}>
                <Link
                  href={href(namespace)}
                  aria-current={isCurrent(pathPrefix) ? 'page' : undefined}
                >
                  {text}
                </Link>
              </li>
            ))}
          </ul>
        </section>
      ))}
      <section aria-label="Help">
        <ul>
          <li>
            <a href="/docs">Documentation</a>
          </li>
        </ul>
      </section>
    </nav>
  )
}

const POLL_INTERVAL_MS = 15_000

/** On every page: why changes are rejected, or what is about to run short. */
function ServerBanner() {
  const { data } = useApiQuery(['server-report'], readReport, { pollIntervalMs: POLL_INTERVAL_MS })
  const notice = data === undefined ? undefined : serverNotice(data)
  if (notice === undefined) return null
  return (
    <aside className={`server-banner tone-${notice.tone}`} aria-label="Server status">
      <Icon name="warning" />
      <p role="status">
        <strong>{notice.title}</strong> {notice.text} <code>reeve doctor</code> checks the rest.
      </p>
    </aside>
  )
}

async function readReport(api: Api, signal: AbortSignal): Promise<{ data: ServerReport }> {
  const before = Date.now()
  try {
    const query = { type: ['server'] }
    const { data: health, headers } = await api.v1.readAgentHealth({ query, signal })
    const skewMs = clockSkewMs(headers.get('date'), { before, after: Date.now() })
    return { data: { health, skewMs } }
  } catch (error) {
    // An unhealthy server reports its health in an error response.
    const health = error instanceof ApiError ? healthInError(error) : undefined
    if (health === undefined) throw error
    return { data: { health, skewMs: undefined } }
  }
}

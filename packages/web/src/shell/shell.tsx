import { useEffect, useState, type ReactNode } from 'react'
import { paths } from '../paths.ts'
import { currentAddress, navigate, useLocation } from '../routing/location.ts'
import { useSession } from '../session/session.tsx'
import { Keyboard } from './keyboard.tsx'
import { ServerBanner } from './server-banner.tsx'
import { SideNavigation } from './side-navigation.tsx'
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

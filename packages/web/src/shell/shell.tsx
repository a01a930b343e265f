import { useEffect, useState, type ReactNode } from 'react'
import { useLocation } from '../routing/location.ts'
import { Keyboard } from './keyboard.tsx'
import { ServerBanner } from './server-banner.tsx'
import { SideNavigation } from './side-navigation.tsx'
import { TopBar } from './top-bar.tsx'

/** What stays while pages come and go. */
export function Shell({ children }: { readonly children: ReactNode }) {
  const [isMenuOpen, setMenuOpen] = useState(false)
  const { pathname } = useLocation()
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

import { createQueryClient } from './data/api-query.ts'
import { LiveProvider } from './data/live.tsx'
import { ConfirmProvider } from './components/dialog.tsx'
import { ErrorBoundary } from './components/error-message.tsx'
import { ToastProvider } from './components/toasts.tsx'
import { Outlet } from './routing/outlet.tsx'
import { routes } from './site-map.ts'
import { SessionProvider } from './session/session.tsx'
import { Shell } from './shell/shell.tsx'

const queryClient = createQueryClient()

/** The web UI: a client of the two APIs, without privileges beyond those of the token. */
export function App() {
  return (
    <ErrorBoundary>
      <SessionProvider queryClient={queryClient}>
        <LiveProvider>
          <ToastProvider>
            <ConfirmProvider>
              <Shell>
                <Outlet routes={routes} />
              </Shell>
            </ConfirmProvider>
          </ToastProvider>
        </LiveProvider>
      </SessionProvider>
    </ErrorBoundary>
  )
}

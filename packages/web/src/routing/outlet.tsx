import { Suspense, useEffect, type ComponentType } from 'react'
import { ErrorBoundary } from '../components/error-message.tsx'
import { lazyComponent } from '../components/lazy.tsx'
import { Loading, NotFound } from '../components/notices.tsx'
import { BASE } from '../paths.ts'
import { useLocation } from './location.ts'
import { type AnyPageProps, matchPath, type PageRoute } from './route.ts'
import { onPreload } from './link.tsx'

const components = new Map<string, ComponentType<AnyPageProps>>()

function componentOf(route: PageRoute): ComponentType<AnyPageProps> {
  const cached = components.get(route.path)
  if (cached !== undefined) return cached
  const component = lazyComponent(route.load)
  components.set(route.path, component)
  return component
}

interface Match {
  readonly route: PageRoute
  readonly params: Readonly<Record<string, string>>
}

/** Returns the first route whose pattern matches the path. */
function findPage(routes: readonly PageRoute[], pathname: string): Match | undefined {
  if (!`${pathname}/`.startsWith(`${BASE}/`)) return undefined
  const path = pathname.slice(BASE.length)
  for (const route of routes) {
    const params = matchPath(route.path, path)
    if (params !== undefined) return { route, params }
  }
  return undefined
}

/** Renders the page of the current URL. */
export function Outlet({ routes }: { readonly routes: readonly PageRoute[] }) {
  const location = useLocation()
  const match = findPage(routes, location.pathname)
  const title = match?.route.title ?? 'Not found'
  useEffect(() => {
    document.title = `${title} · Reeve`
  }, [title, location.pathname])
  useEffect(() => {
    onPreload((pathname) => void findPage(routes, pathname)?.route.load())
  }, [routes])
  if (match === undefined) return <NotFound path={location.pathname} />
  const Page = componentOf(match.route)
  return (
    <ErrorBoundary key={location.pathname}>
      <Suspense fallback={<Loading what="the page" />}>
        <Page params={match.params} search={location.searchParams} />
      </Suspense>
    </ErrorBoundary>
  )
}

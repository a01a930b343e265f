import { Suspense, useEffect, type ComponentType } from 'react'
import { FailureBoundary } from '../parts/failure-boundary.tsx'
import { lazyPart } from '../parts/lazy-part.ts'
import { Loading } from '../parts/loading.tsx'
import { BASE } from '../paths.ts'
import { NotFound } from '../shell/not-found.tsx'
import { useLocation } from './location.ts'
import { matchPath } from './pattern.ts'
import { onPreload } from './preload.ts'
import type { AnyPageProps, PageRoute } from './route.ts'

const components = new Map<string, ComponentType<AnyPageProps>>()

function componentOf(route: PageRoute): ComponentType<AnyPageProps> {
  const known = components.get(route.path)
  if (known !== undefined) return known
  const made = lazyPart(route.load)
  components.set(route.path, made)
  return made
}

interface Match {
  readonly route: PageRoute
  readonly params: Readonly<Record<string, string>>
}

/** The first route whose pattern the path fits; a literal segment must stand before a parameter. */
function findPage(routes: readonly PageRoute[], pathname: string): Match | undefined {
  if (!`${pathname}/`.startsWith(`${BASE}/`)) return undefined
  const path = pathname.slice(BASE.length)
  for (const route of routes) {
    const params = matchPath(route.path, path)
    if (params !== undefined) return { route, params }
  }
  return undefined
}

/** The page that the address names. */
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
    <FailureBoundary key={location.pathname}>
      <Suspense fallback={<Loading what="the page" />}>
        <Page params={match.params} search={location.searchParams} />
      </Suspense>
    </FailureBoundary>
  )
}

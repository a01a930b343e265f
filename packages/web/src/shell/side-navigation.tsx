import { BASE } from '../paths.ts'
import { Link } from '../routing/link.tsx'
import { useLocation } from '../routing/location.ts'
import { NAVIGATION } from './navigation.ts'
import { useNamespace } from './use-namespace.ts'

export function SideNavigation() {
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

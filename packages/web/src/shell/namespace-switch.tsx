import { useRead } from '../data/use-read.ts'
import { ALL_NAMESPACES, paths } from '../paths.ts'
import { hrefWith, navigate, useLocation } from '../routing/location.ts'
import { NAVIGATION } from './navigation.ts'
import { useNamespace } from './use-namespace.ts'

/** Which namespace the lists show. */
export function NamespaceSwitch() {
  const current = useNamespace()
  const { pathname } = useLocation()
  const { data } = useRead(['namespaces'], (api, signal) => api.v1.listNamespaces({ signal }), {
    everyMs: 60_000,
  })
  const names = (data ?? []).map(({ Name }) => Name)
  const known = current === ALL_NAMESPACES || names.includes(current) ? names : [current, ...names]
  // A list shows another namespace; a thing is in one only, so its page gives way to the jobs.
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
        {known.map((name) => (
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

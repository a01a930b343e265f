import { useApiQuery } from '../data/use-read.ts'
import { ALL_NAMESPACES, paths } from '../paths.ts'
import { hrefWith, navigate, useLocation } from '../routing/location.ts'
import { NAVIGATION } from './navigation.ts'
import { useNamespace } from './use-namespace.ts'

/** Selects the namespace of the lists. */
export function NamespaceSwitch() {
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

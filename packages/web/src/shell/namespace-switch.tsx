import { useRead } from '../data/use-read.ts'
import { ALL_NAMESPACES } from '../paths.ts'
import { hrefWith, navigate } from '../routing/location.ts'
import { useNamespace } from './use-namespace.ts'

/** Which namespace the lists show. */
export function NamespaceSwitch() {
  const current = useNamespace()
  const { data } = useRead(['namespaces'], (api, signal) => api.v1.listNamespaces({ signal }), {
    everyMs: 60_000,
  })
  const names = (data ?? []).map(({ Name }) => Name)
  const known = current === ALL_NAMESPACES || names.includes(current) ? names : [current, ...names]
  const change = (name: string) =>
    navigate(hrefWith({ namespace: name === ALL_NAMESPACES ? undefined : name }))
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

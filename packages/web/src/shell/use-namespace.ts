import { ALL_NAMESPACES } from '../paths.ts'
import { useLocation } from '../routing/location.ts'

/** The namespace that lists show: in the address like every other state, all when it has none. */
export function useNamespace(): string {
  return useLocation().searchParams.get('namespace') ?? ALL_NAMESPACES
}

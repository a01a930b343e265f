import { page, type PageRoute } from '../routing/route.ts'

export const sessionRoutes: readonly PageRoute[] = [
  page({
    path: '/',
    title: 'Reeve',
    load: async () => (await import('../pages/session/home.tsx')).HomePage,
  }),
  page({
    path: '/sign-in',
    title: 'Sign in',
    load: async () => (await import('../pages/session/sign-in.tsx')).SignInPage,
  }),
  page({
    path: '/session',
    title: 'Session',
    load: async () => (await import('../pages/session/session.tsx')).SessionPage,
  }),
]
